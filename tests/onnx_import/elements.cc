// Gradients and errors of the operators that address elements by indices; their values are checked by ONNX's node
// tests.
#include <gmock/gmock.h>

#include <functional>

#include "graph/base/error.h"
#include "onnx_import/importer.h"
#include "tests/onnx_import/operator_check.h"

namespace arbalest {
namespace {

void check_gradients(const std::vector<OperatorCase>& cases) {
  for (const OperatorCase& c : cases) check_gradient(c);
}

TEST(OperatorGradient, GatherElements) {
  const HostTensor indices = i64_tensor({2, 3}, {0, -1, 1, 1, 1, 0});
  check_gradients({
      {"rows", "GatherElements", 11, {Dims{2, 3}, indices}, {}},
      {"columns", "GatherElements", 13, {Dims{2, 3}, indices}, {{"axis", -1}}},
      {"fewer rows", "GatherElements", 13, {Dims{3, 4}, indices}, {{"axis", 1}}},
      {"three axes", "GatherElements", 13, {Dims{2, 3, 2}, i64_tensor({2, 1, 2}, {2, 0, -3, -1})}, {{"axis", 1}}},
      {"nothing", "GatherElements", 13, {Dims{2, 3}, i64_tensor({0, 3}, {})}, {}},
  });
}

TEST(OperatorGradient, GatherND) {
  check_gradients({
      {"elements", "GatherND", 11, {Dims{2, 3}, i64_tensor({3, 2}, {0, 1, -1, 2, 0, 1})}, {}},
      {"rows", "GatherND", 13, {Dims{2, 3, 2}, i64_tensor({2, 1, 1}, {1, -2})}, {}},
      {"batch", "GatherND", 12, {Dims{2, 3, 2}, i64_tensor({2, 1}, {2, -2})}, {{"batch_dims", 1}}},
      {"two batch axes",
       "GatherND",
       13,
       {Dims{2, 2, 3}, i64_tensor({2, 2, 2, 1}, {0, 1, 2, 0, -1, 1, 1, 1})},
       {{"batch_dims", 2}}},
  });
}

TEST(OperatorGradient, ScatterElements) {
  const HostTensor indices = i64_tensor({2, 3}, {0, -1, 1, 1, 1, 0});
  std::vector<OperatorCase> cases = {
      {"old", "Scatter", 9, {Dims{3, 3}, indices, Dims{2, 3}}, {}},
      {"set", "ScatterElements", 11, {Dims{3, 3}, indices, Dims{2, 3}}, {{"axis", 1}}},
      {"nothing", "ScatterElements", 13, {Dims{3, 3}, i64_tensor({0, 3}, {}), Dims{0, 3}}, {}},
  };
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    cases.push_back({reduction,
                     "ScatterElements",
                     18,
                     {Dims{3, 3}, indices, Dims{2, 3}},
                     {{"reduction", reduction}, {"axis", -1}}});
  }
  check_gradients(cases);
}

TEST(OperatorGradient, ScatterND) {
  const HostTensor elements = i64_tensor({3, 2}, {0, 1, -1, 2, 0, 1}), rows = i64_tensor({2, 1}, {2, -2});
  std::vector<OperatorCase> cases = {
      {"set", "ScatterND", 11, {Dims{2, 3}, elements, Dims{3}}, {}},
      {"rows", "ScatterND", 13, {Dims{3, 2, 2}, rows, Dims{2, 2, 2}}, {}},
  };
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    cases.push_back({reduction, "ScatterND", 18, {Dims{2, 3}, elements, Dims{3}}, {{"reduction", reduction}}});
    cases.push_back({reduction, "ScatterND", 18, {Dims{3, 2}, rows, Dims{2, 2}}, {{"reduction", reduction}}});
  }
  check_gradients(cases);
}

TEST(OperatorGradient, ReverseSequence) {
  const HostTensor lengths = i64_tensor({2}, {3, 1});
  check_gradients({
      {"time first", "ReverseSequence", 10, {Dims{4, 2, 3}, lengths}, {}},
      {"batch first", "ReverseSequence", 10, {Dims{2, 3}, lengths}, {{"time_axis", 1}, {"batch_axis", 0}}},
  });
}

TEST(OperatorGradient, MaxUnpool) {
  const HostTensor indices = i64_tensor({1, 1, 2, 2}, {5, 7, 13, 15});
  const Attributes window{{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}};
  check_gradients({
      {"plain", "MaxUnpool", 9, {Dims{1, 1, 2, 2}, indices}, window},
      {"larger", "MaxUnpool", 22, {Dims{1, 1, 2, 2}, indices, i64_tensor({4}, {1, 1, 5, 5})}, window},
      {"one axis",
       "MaxUnpool",
       11,
       {Dims{2, 1, 2}, i64_tensor({2, 1, 2}, {0, 2, 4, 5})},
       {{"kernel_shape", std::vector<int64_t>{2}}}},
  });
}

TEST(OperatorGradient, TopKAndCumSum) {
  check_gradients({
      {"attribute", "TopK", 9, {Dims{2, 5}}, {{"k", 2}}, 2},
      {"input", "TopK", 10, {Dims{3, 2}, i64_tensor({1}, {2})}, {{"axis", 0}}, 2},
      {"least", "TopK", 24, {Dims{2, 4, 2}, i64_tensor({1}, {3})}, {{"axis", -2}, {"largest", 0}, {"sorted", 0}}, 2},
      {"plain", "CumSum", 11, {Dims{2, 3}, i64_tensor({}, {1})}, {}},
      {"all", "CumSum", 14, {Dims{2, 3}, i64_tensor({1}, {-2})}, {{"exclusive", 1}, {"reverse", 1}}},
  });
}

TEST(OperatorGradient, OfWhatAConstantChooses) {
  const HostTensor condition = bool_tensor({3}, {1, 0, 1});
  check_gradients({
      {"axis", "Compress", 9, {Dims{2, 3}, condition}, {{"axis", 1}}},
      {"flat", "Compress", 11, {Dims{2, 3}, condition}, {}},
  });
}

HostTensor output_of(const std::string& op, int64_t opset, const std::vector<HostTensor>& inputs,
                     const Attributes& attributes, int output = 0, int outputs = 1) {
  ModelBuilder m(opset);
  Strings names, results;
  for (const HostTensor& t : inputs) {
    names.push_back("x" + std::to_string(names.size()));
    m.graph.initializer(names.back(), t);
  }
  for (int i = 0; i < outputs; ++i) results.push_back("y" + std::to_string(i));
  for (const std::string& name : results) m.graph.output(name);
  m.graph.node(op, names, results, attributes, "the node");
  return run_model(parse_model_file(m.bytes(), "m.onnx")).at(results[static_cast<size_t>(output)]);
}

TEST(DataSized, OfConstants) {
  const HostTensor x = f64_tensor({2, 3}, {3, 0, 1, 3, 0, 0});
  EXPECT_EQ(output_of("NonZero", 13, {x}, {}), i64_tensor({2, 3}, {0, 0, 1, 0, 2, 0}));
  EXPECT_EQ(output_of("NonZero", 13, {f64_tensor({}, {2})}, {}), HostTensor(DataType::i64, {0, 1}));
  EXPECT_EQ(output_of("Unique", 11, {x}, {}), f64_tensor({3}, {0, 1, 3}));
  const Attributes unsorted{{"sorted", 0}};
  EXPECT_EQ(output_of("Unique", 11, {x}, unsorted, 0, 4), f64_tensor({3}, {3, 0, 1}));
  EXPECT_EQ(output_of("Unique", 11, {x}, unsorted, 1, 4), i64_tensor({3}, {0, 1, 2}));
  EXPECT_EQ(output_of("Unique", 11, {x}, unsorted, 2, 4), i64_tensor({6}, {0, 1, 2, 0, 1, 1}));
  EXPECT_EQ(output_of("Unique", 11, {x}, unsorted, 3, 4), i64_tensor({3}, {2, 3, 1}));
  EXPECT_EQ(output_of("Unique", 11, {x}, {{"axis", 1}}), f64_tensor({2, 3}, {0, 1, 3, 0, 0, 3}));
}

std::string failure_of(const std::string& op, int64_t opset, const std::vector<HostTensor>& inputs,
                       const Attributes& attributes = {}) {
  try {
    output_of(op, opset, inputs, attributes);
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

TEST(Elements, AnIndexOutOfRangeIsAnError) {
  using testing::HasSubstr;
  const HostTensor x = f64_tensor({2, 3}, {1, 2, 3, 4, 5, 6}), updates = f64_tensor({1, 3}, {1, 2, 3});
  const HostTensor high = i64_tensor({1, 3}, {0, 2, 1}), low = i64_tensor({1, 3}, {0, -3, 1});
  EXPECT_THAT(failure_of("GatherElements", 13, {x, high}), HasSubstr("index 2 "));
  EXPECT_THAT(failure_of("GatherElements", 13, {x, low}), HasSubstr("out of range for an axis of size 2"));
  EXPECT_THAT(failure_of("ScatterElements", 13, {x, high, updates}), HasSubstr("out of range for an axis of size 2"));
  const HostTensor wrong_column = i64_tensor({1, 2}, {0, 3});
  EXPECT_THAT(failure_of("GatherND", 13, {x, wrong_column}), HasSubstr("index 3 (coordinate 1 of 2) at position 0"));
  EXPECT_THAT(failure_of("ScatterND", 13, {x, wrong_column, f64_tensor({1}, {7})}), HasSubstr("axis of size 3"));
  EXPECT_THAT(failure_of("ReverseSequence", 10, {x, i64_tensor({3}, {1, 3, 1})}), HasSubstr("out of range"));
  EXPECT_THAT(failure_of("ReverseSequence", 10, {x, i64_tensor({3}, {1, -1, 1})}), HasSubstr("out of range"));
  EXPECT_THAT(failure_of("MaxUnpool", 11, {f64_tensor({1, 1, 2}, {1, 2}), i64_tensor({1, 1, 2}, {0, 3})},
                         {{"kernel_shape", std::vector<int64_t>{2}}}),
              HasSubstr("index 3 at position 1: out of range for an axis of size 3"));
}

TEST(Elements, WhatDoesNotFitIsAnError) {
  using testing::HasSubstr;
  const HostTensor x = f64_tensor({2, 3}, {1, 2, 3, 4, 5, 6}), vector = i64_tensor({2}, {0, 1});
  EXPECT_THAT(failure_of("GatherElements", 13, {x, vector}), HasSubstr("indices of rank 1 (2) of a rank-2 tensor"));
  EXPECT_THAT(failure_of("GatherElements", 13, {x, i64_tensor({1, 4}, {0, 0, 0, 0})}), HasSubstr("axis 1 is longer"));
  EXPECT_THAT(failure_of("GatherND", 13, {x, i64_tensor({1, 3}, {0, 0, 0})}), HasSubstr("3 coordinates of a tensor"));
  EXPECT_THAT(failure_of("GatherND", 13, {x, vector}, {{"batch_dims", 1}}), HasSubstr("'batch_dims' is 1"));
  EXPECT_THAT(failure_of("ScatterND", 13, {x, vector, f64_tensor({2}, {1, 2})}),
              HasSubstr("the data to update has shape 6, expected 6 x 2"));
  EXPECT_THAT(failure_of("ScatterElements", 16, {x, vector, x}, {{"reduction", "max"}}),
              HasSubstr("expected none, add or mul"));
  EXPECT_THAT(failure_of("TopK", 11, {x, i64_tensor({1}, {4})}), HasSubstr("k is 4, axis 1 has only 3 elements"));
}

// Sizes stay open until the batch is bound.
TEST(Elements, OpenSizes) {
  const Dim n = Dim::symbol("N");
  ModelBuilder m(18);
  m.graph.input("x", TensorType{DataType::f32, {n, 4, 3}});
  m.graph.input("i", TensorType{DataType::i64, {n, 2, 3}});
  m.graph.input("nd", TensorType{DataType::i64, {n, 5, 2}});
  m.graph.node("GatherElements", {"x", "i"}, {"a"}, {{"axis", 1}});
  m.graph.node("GatherND", {"x", "nd"}, {"b"}, {{"batch_dims", 1}});
  m.graph.node("ScatterElements", {"x", "i", "a"}, {"c"}, {{"axis", 1}, {"reduction", "add"}});
  for (const char* name : {"a", "b", "c"}) m.graph.output(name);
  const Imported imported = import_model(parse_model_file(m.bytes(), "m.onnx"), {});
  verify(imported.graph);
  EXPECT_EQ(to_string(imported.graph.at(imported.graph.outputs[0].value).type), "float32 N x 2 x 3");
  EXPECT_EQ(to_string(imported.graph.at(imported.graph.outputs[1].value).type), "float32 N x 5");
  EXPECT_EQ(to_string(imported.graph.at(imported.graph.outputs[2].value).type), "float32 N x 4 x 3");
}

// A graph whose nodes read the input x of 4 x 3 floats and the condition c of 4 bool.
Graph imported_graph(const std::function<void(GraphBuilder&)>& add_nodes, const Strings& outputs) {
  ModelBuilder m(13);
  m.graph.input("x", TensorType{DataType::f32, {4, 3}}).input("c", TensorType{DataType::boolean, {4}});
  add_nodes(m.graph);
  for (const std::string& name : outputs) m.graph.output(name);
  Graph graph = import_model(parse_model_file(m.bytes(), "m.onnx"), {}).graph;
  verify(graph);
  return graph;
}

TEST(DataSized, OfTheDataEndsASegment) {
  const auto nodes = [](GraphBuilder& g) {
    g.node("NonZero", {"x"}, {"y"}, {}, "places").node("Compress", {"x", "c"}, {"z"}, {{"axis", 0}}, "rows");
  };
  const Graph graph = imported_graph(nodes, {"y", "z"});
  EXPECT_EQ(to_string(graph.at(graph.outputs[0].value).type), "int64 2 x places.count");
  EXPECT_EQ(to_string(graph.at(graph.outputs[1].value).type), "float32 rows.count x 3");
  ASSERT_EQ(graph.segment_ends.size(), 2u);
  EXPECT_EQ(graph.segment_ends[0].origin, "places (NonZero)");
  Bindings sizes;
  HostTensor x(DataType::f32, {4, 3});
  x.as<float>()[5] = 2;
  const auto places = graph.segment_ends[0].compute({x}, sizes);
  EXPECT_EQ(places.inputs.at(0), i64_tensor({2, 1}, {1, 2}));
  EXPECT_THAT(places.sizes, testing::ElementsAre(1));
}

// Exporters write a NonZero for each use of a mask: what they pick has the same size.
TEST(DataSized, TheSameMaskHasOneCount) {
  const auto nodes = [](GraphBuilder& g) {
    for (const char* name : {"a", "b"})
      g.node("Cast", {"c"}, {std::string("cast_") + name}, {{"to", 1}})
          .node("NonZero", {std::string("cast_") + name}, {name});
    g.node("Add", {"a", "b"}, {"sum"});
  };
  const Graph graph = imported_graph(nodes, {"sum"});
  EXPECT_EQ(graph.segment_ends.size(), 1u);
}

// The range 0, 1, ... of an open size, as exporters once wrote it.
TEST(DataSized, AFilledVectorHasAKnownCount) {
  ModelBuilder m(11);
  m.graph.input("x", TensorType{DataType::f32, {Dim::symbol("N"), 3}})
      .node("Shape", {"x"}, {"shape"})
      .node("ConstantOfShape", {"rows"}, {"ones"}, {{"value", i64_tensor({1}, {1})}})
      .node("Slice", {"shape", "zero", "one"}, {"rows"})
      .node("NonZero", {"ones"}, {"y"})
      .initializer("zero", i64_tensor({1}, {0}))
      .initializer("one", i64_tensor({1}, {1}))
      .output("y");
  const Graph graph = import_model(parse_model_file(m.bytes(), "m.onnx"), {}).graph;
  EXPECT_TRUE(graph.segment_ends.empty());
  EXPECT_EQ(to_string(graph.at(graph.outputs[0].value).type), "int64 1 x N");
}

}  // namespace
}  // namespace arbalest
