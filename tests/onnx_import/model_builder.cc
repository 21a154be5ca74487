#include "onnx_import/model_builder.h"

#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

namespace arbalest {
namespace {

using ::testing::ElementsAre;

onnx::ModelProto parse(const ModelBuilder& m) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(m.bytes()));
  return proto;
}

TEST(ModelBuilder, WritesGraphWithTypes) {
  ModelBuilder m(17);
  m.doc_string = "why";
  m.opset("com.acme", 2).metadata("author", "somebody");
  m.graph.input("x", TensorType{DataType::f32, {Dim::symbol("N"), 3}})
      .initializer("w", HostTensor::f32({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}))
      .node("MatMul", {"x", "w"}, {"y"}, {}, "/mm")
      .output("y", TensorType{DataType::f64, {}});
  const onnx::ModelProto p = parse(m);

  EXPECT_EQ(p.ir_version(), 8);
  EXPECT_EQ(p.producer_name(), "arbalest");
  EXPECT_EQ(p.doc_string(), "why");
  ASSERT_EQ(p.opset_import_size(), 2);
  EXPECT_EQ(p.opset_import(1).domain(), "com.acme");
  EXPECT_EQ(p.opset_import(1).version(), 2);
  EXPECT_EQ(p.metadata_props(0).value(), "somebody");

  const onnx::GraphProto& g = p.graph();
  const auto& x = g.input(0).type().tensor_type();
  EXPECT_EQ(x.elem_type(), onnx::TensorProto::FLOAT);
  EXPECT_EQ(x.shape().dim(0).dim_param(), "N");
  EXPECT_EQ(x.shape().dim(1).dim_value(), 3);
  EXPECT_EQ(g.output(0).type().tensor_type().elem_type(), onnx::TensorProto::DOUBLE);
  EXPECT_EQ(g.output(0).type().tensor_type().shape().dim_size(), 0);
  EXPECT_TRUE(g.output(0).type().tensor_type().has_shape());
  EXPECT_EQ(g.initializer(0).name(), "w");
  EXPECT_THAT(g.initializer(0).dims(), ElementsAre(3, 2));
  EXPECT_EQ(g.initializer(0).raw_data().size(), 24u);
  EXPECT_EQ(g.node(0).op_type(), "MatMul");
  EXPECT_EQ(g.node(0).name(), "/mm");
  EXPECT_THAT(g.node(0).input(), ElementsAre("x", "w"));
}

TEST(ModelBuilder, WritesEveryKindOfAttribute) {
  GraphBuilder body("body");
  body.node("Identity", {"outer"}, {"inner"}).output("inner");
  ModelBuilder m;
  m.graph.node("Anything", {}, {"y"},
               {{"i", 3},
                {"b", true},
                {"f", 0.5},
                {"s", "SAME_UPPER"},
                {"is", Ints{1, 2}},
                {"fs", Floats{1, 2.5}},
                {"ss", Strings{"a", "b"}},
                {"t", HostTensor::i64({2}, std::vector<int64_t>{7, 8})},
                {"g", body}},
               "", "com.acme");
  const onnx::NodeProto n = parse(m).graph().node(0);

  EXPECT_EQ(n.domain(), "com.acme");
  ASSERT_EQ(n.attribute_size(), 9);
  EXPECT_EQ(n.attribute(0).i(), 3);
  EXPECT_EQ(n.attribute(0).type(), onnx::AttributeProto::INT);
  EXPECT_EQ(n.attribute(1).i(), 1);
  EXPECT_EQ(n.attribute(2).f(), 0.5f);
  EXPECT_EQ(n.attribute(2).type(), onnx::AttributeProto::FLOAT);
  EXPECT_EQ(n.attribute(3).s(), "SAME_UPPER");
  EXPECT_THAT(n.attribute(4).ints(), ElementsAre(1, 2));
  EXPECT_THAT(n.attribute(5).floats(), ElementsAre(1.0f, 2.5f));
  EXPECT_THAT(n.attribute(6).strings(), ElementsAre("a", "b"));
  EXPECT_EQ(n.attribute(7).t().data_type(), onnx::TensorProto::INT64);
  EXPECT_EQ(n.attribute(8).type(), onnx::AttributeProto::GRAPH);
  EXPECT_EQ(n.attribute(8).g().node(0).input(0), "outer");
  EXPECT_FALSE(n.attribute(8).g().output(0).has_type());
}

TEST(ModelBuilder, WritesFunctions) {
  ModelBuilder m(18);
  GraphBuilder body;
  body.input("a").node("Neg", {"a"}, {"b"}).output("b");
  m.opset("local", 1).function("local", "Minus", body);
  const onnx::ModelProto p = parse(m);
  ASSERT_EQ(p.functions_size(), 1);
  const onnx::FunctionProto& f = p.functions(0);
  EXPECT_EQ(f.domain(), "local");
  EXPECT_EQ(f.name(), "Minus");
  EXPECT_THAT(f.input(), ElementsAre("a"));
  EXPECT_THAT(f.output(), ElementsAre("b"));
  EXPECT_EQ(f.node(0).op_type(), "Neg");
  EXPECT_EQ(f.opset_import(0).version(), 18);
}

TEST(ModelBuilder, SameDescriptionGivesSameBytes) {
  const auto describe = [] {
    ModelBuilder m;
    m.graph.initializer("w", HostTensor::f32({1}, std::vector<float>{1})).node("Relu", {"w"}, {"y"}).output("y");
    return m.bytes();
  };
  EXPECT_EQ(describe(), describe());
}

}  // namespace
}  // namespace arbalest
