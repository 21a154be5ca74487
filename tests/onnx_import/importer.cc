// The importer on small models: names, parameters, states, the free batch, order, functions, and its complaints.
#include "onnx_import/importer.h"

#include <gmock/gmock.h>

#include "onnx_import/model_builder.h"
#include "tests/onnx_import/fixtures.h"

namespace arbalest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Imported import(const ModelBuilder& m, const ImportOptions& options = {}) {
  Imported imported = import_model(*load_model_bytes(m.bytes(), "m.onnx"), options);
  verify(imported.graph);
  return imported;
}

std::string fault_of(const ModelBuilder& m, const ImportOptions& options = {}) {
  try {
    import(m, options);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

HostTensor weights(const Dims& dims) {
  HostTensor t(DataType::f32, dims);
  for (size_t i = 0; i < t.as<float>().size(); ++i) t.as<float>()[i] = 0.1f * static_cast<float>(i + 1);
  return t;
}
HostTensor integers(const std::vector<int64_t>& values) {
  return HostTensor::i64({static_cast<int64_t>(values.size())}, values);
}

const ParameterReport& report(const Imported& imported, const std::string& name) {
  for (const ParameterReport& r : imported.parameters) {
    if (r.name == name) return r;
  }
  throw std::runtime_error("no report of " + name);
}

std::string output_type(const Imported& imported, const std::string& name) {
  return to_string(imported.graph.at(imported.graph.find_output(name)->value).type);
}

// x -> MatMul(w) -> y
ModelBuilder linear(const Shape& x, const Dims& w) {
  ModelBuilder m(17);
  m.graph.input("x", f32(x)).initializer("w", weights(w)).node("MatMul", {"x", "w"}, {"y"}, {}, "mm").output("y");
  return m;
}

TEST(Importer, KeepsNamesAndOrigins) {
  ModelBuilder m = linear({kN, 3}, {3, 2});
  m.graph.node("Relu", {"y"}, {"z"}).output("z");
  const Imported imported = import(m);
  const Graph& g = imported.graph;
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].origin, "mm (MatMul)");
  EXPECT_EQ(g.nodes[1].origin, "z (Relu)");  // unnamed: its output's name
  EXPECT_EQ(g.at(g.nodes[1].outputs[0]).name, "z");
  ASSERT_NE(g.find_input("w"), nullptr);
  EXPECT_EQ(g.find_input("w")->role, InputRole::parameter);
  EXPECT_EQ(g.find_input("w")->initial->dims, (Dims{3, 2}));
  EXPECT_EQ(g.find_input("x")->role, InputRole::data);
  EXPECT_EQ(imported.batch_symbol, "N");
  EXPECT_EQ(report(imported, "w").why, "weight of mm (MatMul)");
}

TEST(Importer, DropsWhatNoOutputNeedsButReportsIt) {
  ModelBuilder m = linear({kN, 3}, {3, 2});
  m.graph.initializer("dead", weights({4})).node("Frobnicate", {"dead"}, {"nothing"});
  const Imported imported = import(m);
  EXPECT_EQ(imported.graph.nodes.size(), 1u);
  EXPECT_EQ(imported.graph.find_input("dead"), nullptr);
  EXPECT_FALSE(report(imported, "dead").trains);
  EXPECT_EQ(report(imported, "dead").use, TensorUse::unused);
}

TEST(Importer, KeepsOnlyTheOutputsAskedFor) {
  ModelBuilder m = linear({kN, 3}, {3, 2});
  m.graph.node("Frobnicate", {"y"}, {"z"}).output("z");
  EXPECT_THAT(fault_of(m), HasSubstr("'z' (Frobnicate)"));
  ImportOptions options;
  options.outputs = {"y"};
  EXPECT_EQ(import(m, options).graph.outputs.size(), 1u);
  options.outputs = {"nowhere"};
  EXPECT_THAT(fault_of(m, options), HasSubstr("no output 'nowhere'; the model has 'y', 'z'"));
}

TEST(Importer, SixteenBitWeightsAreTrainedInFloat32) {
  ModelBuilder m(17);
  m.graph.input("x", TensorType{DataType::f16, {kN, 3}})
      .initializer("w", weights({3, 2}).to(DataType::f16))
      .node("MatMul", {"x", "w"}, {"h"})
      .node("Cast", {"h"}, {"y"}, {{"to", 10}})
      .output("y");
  const Imported imported = import(m);
  EXPECT_EQ(output_type(imported, "y"), "float32 N x 2");
  EXPECT_EQ(imported.graph.nodes.size(), 1u);  // the cast is nothing
  EXPECT_EQ(imported.graph.find_input("w")->initial->dtype, DataType::f32);
  EXPECT_EQ(report(imported, "w").type.dtype, DataType::f16);
}

// ---- the batch

TEST(Importer, FreesTheBatchThatTheFileFixes) {
  const Imported imported = import(linear({4, 3}, {3, 2}));
  EXPECT_EQ(imported.batch_symbol, "N");
  EXPECT_EQ(output_type(imported, "y"), "float32 N x 2");
  ImportOptions fixed;
  fixed.free_batch = false;
  EXPECT_EQ(output_type(import(linear({4, 3}, {3, 2}), fixed), "y"), "float32 4 x 2");
}

TEST(Importer, GivesTheBatchOneNameInAllInputs) {
  ModelBuilder m(17);
  m.graph.input("a", f32({Dim::symbol("a_dynamic_axes_1"), 3}))
      .input("b", f32({Dim::symbol("b_dynamic_axes_1"), 3}))
      .node("Add", {"a", "b"}, {"y"})
      .output("y");
  EXPECT_EQ(output_type(import(m), "y"), "float32 a_dynamic_axes_1 x 3");
}

TEST(Importer, KeepsALengthApartFromTheBatch) {
  ModelBuilder m(17);
  m.graph.input("mask", f32({Dim::symbol("seq")}))
      .input("x", f32({Dim::symbol("batch"), Dim::symbol("seq")}))
      .node("Add", {"mask", "x"}, {"y"})
      .output("y");
  const Imported imported = import(m);
  EXPECT_EQ(imported.batch_symbol, "batch");
  EXPECT_EQ(output_type(imported, "y"), "float32 batch x seq");
}

// x [batch, ...] -> Reshape(target) -> y
ModelBuilder reshape(const Shape& x, const std::vector<int64_t>& target) {
  ModelBuilder m(17);
  m.graph.input("x", f32(x)).initializer("shape", integers(target)).node("Reshape", {"x", "shape"}, {"y"}).output("y");
  return m;
}

struct BakedReshape {
  Shape input;
  std::vector<int64_t> target;
  const char* output;
};

TEST(Importer, GeneralisesAReshapeThatHoldsTheBatch) {
  for (const BakedReshape& c : {
           BakedReshape{{4, 3, 2}, {4, 6}, "float32 N x 6"},
           BakedReshape{{4, 3, 2}, {4, -1}, "float32 N x 6"},
           BakedReshape{{1, 3, 2}, {1, -1}, "float32 N x 6"},
           BakedReshape{{1, 3, 2}, {1, 3, 1, 2}, "float32 N x 3 x 1 x 2"},
           BakedReshape{{4, 3, 2}, {12, 2}, "float32 3*N x 2"},  // batch and length merged
           BakedReshape{{4, 3, 2}, {8, 3}, "float32 2*N x 3"},
           BakedReshape{{4, 3, 2}, {-1, 6}, "float32 N x 6"},  // fits as it stands
           BakedReshape{{4, 3, 2}, {0, 6}, "float32 N x 6"},
           BakedReshape{{kN, 3, 2}, {4, 6}, "float32 N x 6"},  // free in the file, fixed by the tracer
           BakedReshape{{kN, 3, 2}, {1, 6}, "float32 N x 6"},
           BakedReshape{{kN, 3, 2}, {-1, 6}, "float32 N x 6"},
       }) {
    EXPECT_EQ(output_type(import(reshape(c.input, c.target)), "y"), c.output)
        << to_string(c.input) << " to " << to_string(Dims(c.target));
  }
}

TEST(Importer, LeavesAReshapeOfAWeightAlone) {
  ModelBuilder m(17);
  m.graph.input("x", f32({1, 3, 2, 2}))
      .initializer("bias", weights({3}))
      .initializer("shape", integers({1, 3, 1, 1}))
      .node("Reshape", {"bias", "shape"}, {"b"})
      .node("Add", {"x", "b"}, {"y"})
      .output("y");
  const Imported imported = import(m);
  EXPECT_EQ(output_type(imported, "y"), "float32 N x 3 x 2 x 2");
  EXPECT_THAT(imported.notices, IsEmpty());
}

TEST(Importer, KeepsTheFixedBatchWhereItCannotBeFreed) {
  ModelBuilder m(17);  // one learned row for each example
  m.graph.input("x", f32({4, 3}))
      .initializer("w", weights({4, 3}))
      .node("Add", {"x", "w"}, {"y"}, {}, "sum")
      .output("y");
  const Imported imported = import(m);
  EXPECT_EQ(imported.batch_symbol, "");
  EXPECT_EQ(output_type(imported, "y"), "float32 4 x 3");
  EXPECT_THAT(imported.notices, ElementsAre(HasSubstr("the batch stays as the file fixes it: node 'sum' (Add)")));
}

TEST(Importer, EvaluatesShapeArithmeticOnSymbols) {
  ModelBuilder m(17);
  m.graph.input("x", f32({kN, 3, Dim::symbol("W")}))
      .initializer("zero", integers({0}))
      .initializer("rest", integers({-1}))
      .node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "zero"}, {"n"}, {{"axis", 0}})
      .node("Concat", {"n", "rest"}, {"target"}, {{"axis", 0}})
      .node("Reshape", {"x", "target"}, {"y"})
      .output("y");
  const Imported imported = import(m);
  EXPECT_EQ(output_type(imported, "y"), "float32 N x 3*W");
  EXPECT_EQ(imported.graph.nodes.size(), 1u);
}

// ---- order, functions

TEST(Importer, SortsNodes) {
  ModelBuilder m(17);
  m.graph.input("x", f32({kN, 3}))
      .node("Relu", {"b"}, {"y"})
      .node("Exp", {"a"}, {"b"})
      .node("Neg", {"x"}, {"a"})
      .output("y");
  const Imported imported = import(m);
  EXPECT_EQ(imported.graph.nodes[0].origin, "a (Neg)");
  EXPECT_EQ(imported.graph.nodes[2].origin, "y (Relu)");
}

// Twice(x) = x + x * factor, factor an attribute
ModelBuilder with_function() {
  GraphBuilder body("Scaled");
  body.input("v").output("out").node("LeakyRelu", {"v"}, {"inner"}, {}, "act").node("Add", {"v", "inner"}, {"out"});
  ModelBuilder m(17);
  m.opset("local", 1).function("local", "Scaled", body);
  m.graph.input("x", f32({kN, 3}))
      .node("Scaled", {"x"}, {"h"}, {}, "first", "local")
      .node("Scaled", {"h"}, {"y"}, {}, "", "local")
      .output("y");
  return m;
}

TEST(Importer, InlinesFunctions) {
  const Imported imported = import(with_function());
  ASSERT_EQ(imported.graph.nodes.size(), 4u);
  EXPECT_EQ(imported.graph.nodes[0].origin, "first/act (LeakyRelu)");
  EXPECT_EQ(imported.graph.nodes[3].origin, "y/out (Add)");
}

TEST(Importer, RefusesFunctionsThatMultiply) {
  ModelBuilder m(17);
  m.opset("local", 1);
  for (int i = 0; i < 40; ++i) {  // f0 calls f1 twice, f1 calls f2 twice, ...
    GraphBuilder body;
    const std::string next = i == 39 ? "Neg" : "F" + std::to_string(i + 1);
    const std::string domain = i == 39 ? "" : "local";
    body.input("v").output("w").node(next, {"v"}, {"u"}, {}, "", domain).node(next, {"u"}, {"w"}, {}, "", domain);
    m.function("local", "F" + std::to_string(i), body);
  }
  m.graph.input("x", f32({kN})).node("F0", {"x"}, {"y"}, {}, "", "local").output("y");
  EXPECT_THAT(fault_of(m), HasSubstr("functions expand to more than"));
}

// ---- complaints

TEST(Importer, ReportsAllFaultyNodesAtOnce) {
  ModelBuilder m = linear({kN, 3}, {4, 2});  // does not fit
  m.graph.node("Relu", {"y"}, {"behind"})
      .node("Softmax", {"x"}, {"s"}, {{"axis", 5}}, "soft")
      .node("Add", {"behind", "s"}, {"z"})
      .output("z");
  const std::string message = fault_of(m);
  EXPECT_THAT(message, HasSubstr("node 'mm' (MatMul): the first operand (N x 3) has 3 columns, the second (4 x 2) 4"));
  EXPECT_THAT(message, HasSubstr("node 'soft' (Softmax): axis 5"));
  EXPECT_EQ(message.find("Relu"), std::string::npos);
}

TEST(Importer, RefusesUnknownAttributesAndInputs) {
  ModelBuilder m(17);
  m.graph.input("x", f32({kN, 3})).node("Relu", {"x"}, {"y"}, {{"alpha", 0.5}}, "r").output("y");
  EXPECT_THAT(fault_of(m), HasSubstr("node 'r' (Relu): unknown attribute 'alpha' for version 14"));
  ModelBuilder two(17);
  two.graph.input("x", f32({kN, 3})).node("Relu", {"x", "x"}, {"y"}, {}, "r").output("y");
  EXPECT_THAT(fault_of(two), HasSubstr("node 'r' (Relu): input 1 ('x') is one more than version 14"));
}

TEST(Importer, RefusesOperatorsThatTheOpsetLacks) {
  ModelBuilder m(17);
  m.graph.input("x", f32({kN, 3})).node("Gelu", {"x"}, {"y"}, {}, "g").output("y");
  EXPECT_THAT(fault_of(m),
              HasSubstr("'g' (Gelu): opset 17 of domain ai.onnx does not have it; it is there from 20 on"));
}

TEST(Importer, RefusesOutputsThatNothingGives) {
  ModelBuilder m(17);
  m.graph.input("x", f32({kN, 3, 8, 8})).node("Relu", {"x"}, {"y", "i"}, {}, "p").output("y");
  EXPECT_EQ(fault_of(m), "");  // nobody reads them
  m.graph.output("i");
  EXPECT_THAT(fault_of(m), HasSubstr("node 'p' (Relu): output 1 ('i') is not supported"));
}

TEST(Importer, ImportsDeepGraphsInLinearTime) {
  ModelBuilder m(17);
  m.graph.input("x", f32({kN, 3}));
  std::string last = "x";
  for (int i = 0; i < 20000; ++i) {
    const std::string next = "v" + std::to_string(i);
    m.graph.node(i % 2 ? "Neg" : "Sin", {last}, {next});
    last = next;
  }
  m.graph.output(last);
  EXPECT_EQ(import(m).graph.nodes.size(), 20000u);
}

// ---- what trains

TEST(Parameters, OneElementOfALayerTrains) {
  ModelBuilder m(17);
  m.graph.input("x", f32({kN, 3}))
      .initializer("w", weights({3, 1}))
      .initializer("b", weights({1}))
      .initializer("half", HostTensor(DataType::f32, {}))
      .node("Gemm", {"x", "w", "b"}, {"h"})
      .node("Mul", {"h", "half"}, {"y"})
      .output("y");
  const Imported imported = import(m);
  EXPECT_TRUE(report(imported, "b").trains);
  EXPECT_FALSE(report(imported, "half").trains);
  EXPECT_EQ(report(imported, "half").use, TensorUse::scalar_constant);
  ImportOptions options;
  options.selection.train = {"half"};
  const Imported selected = import(m, options);
  EXPECT_TRUE(report(selected, "half").trains);
  EXPECT_FALSE(report(selected, "w").trains);
}

TEST(Parameters, PatternsMatchNamesAndNodes) {
  ModelBuilder m = linear({kN, 3}, {3, 3});
  m.graph.initializer("v", weights({3, 3})).node("MatMul", {"y", "v"}, {"z"}, {}, "/head/MatMul").output("z");
  ImportOptions options;
  options.selection.freeze = {"/head/*"};
  const Imported imported = import(m, options);
  EXPECT_TRUE(report(imported, "w").trains);
  EXPECT_EQ(report(imported, "v").why, "frozen by request: weight of /head/MatMul (MatMul)");
  options.selection.freeze = {"nothing*"};
  EXPECT_THAT(fault_of(m, options), HasSubstr("pattern 'nothing*' matches no tensor"));
}

TEST(Parameters, ConstantsTrainOnlyWithoutInitializers) {
  ModelBuilder m(17);
  m.graph.input("x", f32({kN, 3}))
      .node("Constant", {}, {"c"}, {{"value", weights({3, 2})}})
      .node("MatMul", {"x", "c"}, {"y"})
      .output("y");
  EXPECT_TRUE(report(import(m), "c").trains);
  EXPECT_EQ(import(m).graph.find_input("c")->role, InputRole::parameter);
  m.graph.initializer("w", weights({2, 2})).node("MatMul", {"y", "w"}, {"z"}).output("z");
  EXPECT_EQ(import(m).graph.find_input("c"), nullptr);
}

// ---- BatchNormalization

ModelBuilder batch_norm(int64_t opset, const Strings& outputs, const Attributes& attributes) {
  ModelBuilder m(opset);
  m.graph.input("x", f32({kN, 3, 4, 4}));
  for (const char* name : {"scale", "bias", "mean", "var"}) m.graph.initializer(name, weights({3}));
  m.graph.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, outputs, attributes, "bn").output("y");
  return m;
}

size_t states(const Graph& g) {
  size_t count = 0;
  for (const GraphInput& input : g.inputs) count += input.role == InputRole::state;
  return count;
}
bool uses_batch_statistics(const Graph& g) {
  for (const Node& n : g.nodes) {
    if (std::holds_alternative<BatchNorm>(n.primitive)) return true;
  }
  return false;
}

struct BatchNormCase {
  const char* name;
  ModelBuilder model;
  BatchNormPolicy policy;
  ImportMode mode;
  bool batch_statistics;
  size_t states, updates;
};

TEST(BatchNormalization, TakesItsStatisticsAsTheModeAndThePolicySay) {
  const auto policy = [](const char* name) { return name; };
  const ModelBuilder inference = batch_norm(15, {"y"}, {});
  const ModelBuilder training = batch_norm(15, {"y", "m", "v"}, {{"training_mode", 1}});
  const ModelBuilder y_only = batch_norm(15, {"y"}, {{"training_mode", 1}});
  const ModelBuilder five = batch_norm(9, {"y", "m", "v", "sm", "sv"}, {});
  using P = BatchNormPolicy;
  using M = ImportMode;
  for (const BatchNormCase& c : {
           BatchNormCase{policy("inference form, trained"), inference, P::batch, M::training, true, 2, 2},
           BatchNormCase{policy("inference form, frozen"), inference, P::frozen, M::training, false, 0, 0},
           BatchNormCase{policy("inference form, as in the file"), inference, P::file, M::training, false, 0, 0},
           BatchNormCase{policy("inference form, evaluated"), inference, P::batch, M::inference, false, 2, 0},
           BatchNormCase{policy("training form, as in the file"), training, P::file, M::training, true, 2, 2},
           BatchNormCase{policy("training form, frozen"), training, P::frozen, M::training, false, 0, 0},
           BatchNormCase{policy("training form, evaluated"), training, P::batch, M::inference, false, 2, 0},
           BatchNormCase{policy("no running statistics"), y_only, P::batch, M::training, true, 0, 0},
           BatchNormCase{policy("no running statistics, evaluated"), y_only, P::batch, M::inference, true, 0, 0},
           BatchNormCase{policy("five outputs"), five, P::file, M::training, true, 2, 2},
           BatchNormCase{policy("five outputs, evaluated"), five, P::file, M::inference, false, 2, 0},
       }) {
    ImportOptions options;
    options.batch_norm = c.policy;
    options.mode = c.mode;
    const Imported imported = import(c.model, options);
    EXPECT_EQ(uses_batch_statistics(imported.graph), c.batch_statistics) << c.name;
    EXPECT_EQ(states(imported.graph), c.states) << c.name;
    EXPECT_EQ(imported.graph.updates.size(), c.updates) << c.name;
    EXPECT_FALSE(report(imported, "mean").trains) << c.name;
    EXPECT_TRUE(report(imported, "scale").trains) << c.name;
  }
}

TEST(BatchNormalization, PolicyOfANodeGoesFirst) {
  ImportOptions options;
  options.batch_norm_of = {{"b*", BatchNormPolicy::frozen}};
  EXPECT_FALSE(uses_batch_statistics(import(batch_norm(15, {"y"}, {}), options).graph));
}

}  // namespace
}  // namespace arbalest
