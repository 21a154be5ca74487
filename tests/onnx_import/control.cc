// Recurrent layers, branches, loops and sequences: what they refuse, and gradients against differences in double
// precision. What they compute is compared with other programs in tests/data/loops (README.md there).
#include <gmock/gmock.h>

#include "onnx_import/exporter.h"
#include "onnx_import/importer.h"
#include "onnx_import/tensor_reader.h"
#include "tests/onnx_import/operator_check.h"
#include "tests/temporary_folder.h"

namespace arbalest {
namespace {

using ::testing::HasSubstr;

HostTensor i32_tensor(const std::vector<int64_t>& values) {
  return i64_tensor({static_cast<int64_t>(values.size())}, values).to(DataType::i32);
}

TEST(Recurrent, Gradients) {
  const OperatorCase kCases[] = {
      {"lstm", "LSTM", 17, {Dims{3, 2, 2}, Dims{1, 12, 2}, Dims{1, 12, 3}, Dims{1, 24}}, {}, 3},
      {"lstm both ways, all inputs",
       "LSTM",
       22,
       {Dims{3, 2, 2}, Dims{2, 8, 2}, Dims{2, 8, 2}, Dims{2, 16}, i32_tensor({3, 1}), Dims{2, 2, 2}, Dims{2, 2, 2},
        Dims{2, 6}},
       {{"direction", "bidirectional"}},
       3},
      {"lstm batch first, input forget",
       "LSTM",
       14,
       {Dims{2, 3, 2}, Dims{1, 8, 2}, Dims{1, 8, 2}},
       {{"layout", 1}, {"input_forget", 1}, {"direction", "reverse"}},
       3},
      {"gru", "GRU", 14, {Dims{3, 2, 2}, Dims{1, 6, 2}, Dims{1, 6, 2}, Dims{1, 12}}, {}, 2},
      {"gru, reset after the product",
       "GRU",
       7,
       {Dims{3, 2, 2}, Dims{1, 6, 2}, Dims{1, 6, 2}, Dims{1, 12}, i32_tensor({2, 3}), Dims{1, 2, 2}},
       {{"linear_before_reset", 1}, {"direction", "reverse"}},
       2},
      {"rnn", "RNN", 7, {Dims{4, 1, 2}, Dims{1, 3, 2}, Dims{1, 3, 3}, Dims{1, 6}}, {}, 2},
      {"rnn, softsign",
       "RNN",
       22,
       {Dims{2, 2, 2}, Dims{1, 2, 2}, Dims{1, 2, 2}},
       {{"activations", Strings{"Softsign"}}},
       2},
  };
  for (const OperatorCase& c : kCases) check_gradient(c);
}

std::string refusal(const ModelBuilder& m, const ImportOptions& options = {}) {
  try {
    import_model(parse_model_file(m.bytes(), "m.onnx"), options);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TensorType f32_type(Shape shape) { return {DataType::f32, std::move(shape)}; }
const Dim kT = Dim::symbol("T");

ModelBuilder rnn_model(Shape x, Attributes attributes, Dims r = {1, 3, 3}) {
  ModelBuilder m(17);
  m.graph.input("x", f32_type(std::move(x)))
      .initializer("W", HostTensor(DataType::f32, {1, 3, 2}))
      .initializer("R", HostTensor(DataType::f32, std::move(r)))
      .node("RNN", {"x", "W", "R"}, {"y"}, std::move(attributes), "rnn")
      .output("y");
  return m;
}

TEST(Recurrent, Refusals) {
  EXPECT_EQ(refusal(rnn_model({4, 2, 2}, {})), "");
  EXPECT_THAT(refusal(rnn_model({2, kT, 2}, {{"layout", 1}})),
              HasSubstr("time steps is the open size 'T'; give it a value (--dim T=SIZE)"));
  ImportOptions bound;
  bound.bindings = {{"T", 4}};
  EXPECT_EQ(refusal(rnn_model({2, kT, 2}, {{"layout", 1}}), bound), "");
  EXPECT_THAT(refusal(rnn_model({1'000'000, 2, 2}, {})), HasSubstr("1000000 time steps, at most 20000"));
  EXPECT_THAT(refusal(rnn_model({4, 2}, {})), HasSubstr("three axes"));
  EXPECT_THAT(refusal(rnn_model({4, 2, 5}, {})), HasSubstr("input 1 has shape 1 x 3 x 2, expected 1 x 3 x 5"));
  EXPECT_THAT(refusal(rnn_model({4, 2, 2}, {{"hidden_size", 4}})), HasSubstr("'hidden_size' is 4"));
  EXPECT_THAT(refusal(rnn_model({4, 2, 2}, {{"direction", "sideways"}})), HasSubstr("'sideways'"));
  EXPECT_THAT(refusal(rnn_model({4, 2, 2}, {{"activations", Strings{"Gelu"}}})), HasSubstr("names 'Gelu'"));
  EXPECT_THAT(refusal(rnn_model({4, 2, 2}, {{"activations", Strings{"Tanh", "Tanh"}}})),
              HasSubstr("2 names, expected 1"));
  EXPECT_THAT(refusal(rnn_model({4, 2, 2}, {{"clip", -1.0f}})), HasSubstr("'clip'"));
}

// ---- branches

GraphBuilder branch(const std::string& op, Strings inputs, std::optional<HostTensor> weight = std::nullopt) {
  GraphBuilder g("branch");
  if (weight) g.initializer(inputs.back(), *weight);
  return g.node(op, std::move(inputs), {"result"}, {}, op).output("result");
}

ModelBuilder if_model(std::string condition, GraphBuilder then_branch, GraphBuilder else_branch) {
  ModelBuilder m(17);
  m.graph.input("x", f32_type({2, 3}))
      .input("from_data", {{DataType::boolean, {}}})
      .initializer("yes", bool_tensor({}, {1}))
      .initializer("w", HostTensor::f32({3, 3}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}))
      .node("If", {std::move(condition)}, {"y"},
            {{"then_branch", std::move(then_branch)}, {"else_branch", std::move(else_branch)}}, "choice")
      .output("y");
  return m;
}

TEST(If, Refusals) {
  const GraphBuilder good = branch("Relu", {"x"});
  EXPECT_EQ(refusal(if_model("from_data", good, branch("Neg", {"x"}))), "");
  EXPECT_EQ(refusal(if_model("yes", good, branch("NoSuchOperator", {"x"}))), "");  // never taken
  EXPECT_THAT(refusal(if_model("from_data", good, branch("NoSuchOperator", {"x"}))),
              HasSubstr("'choice' (If): node 'NoSuchOperator'"));
  EXPECT_THAT(refusal(if_model("from_data", good, branch("ReduceSum", {"x"}))),
              HasSubstr("output 0 is float32 2 x 3 or float32 1 x 1, depending on a condition that the data give"));
  EXPECT_THAT(refusal(if_model("from_data", good, branch("Neg", {"ghost"}))), HasSubstr("'ghost'"));
  EXPECT_THAT(refusal(if_model("x", good, good)), HasSubstr("the condition is float32 2 x 3, expected one bool"));
}

TEST(If, WeightsOfABranchTrainAndAreWrittenBack) {
  const HostTensor weight = HostTensor::f32({3, 3}, std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 1});
  const ModelFile file = parse_model_file(
      if_model("from_data", branch("MatMul", {"x", "inner"}, weight), branch("MatMul", {"x", "w"})).bytes(), "m.onnx");
  std::vector<std::string> trained;
  for (const ParameterReport& r : import_model(file, {}).parameters)
    if (r.trains) trained.push_back(r.name);
  EXPECT_THAT(trained, testing::UnorderedElementsAre("w", "inner"));
  const HostTensor changed = HostTensor::f32({3, 3}, std::vector<float>(9, 5));
  const TemporaryFolder folder;
  export_model(file, {{"inner", changed}}, folder / "out.onnx");
  const ModelFile out = read_model_file(folder / "out.onnx");
  for (const auto& attribute : out.proto.graph().node(0).attribute()) {
    if (attribute.name() != "then_branch") continue;
    EXPECT_EQ(read_tensor(attribute.g().initializer(0), out), changed);
  }
}

// The specification forbids it; exporters do it.
TEST(If, AnInnerNameHidesTheOuterOne) {
  const HostTensor weight = HostTensor::f32({3, 3}, std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 1});
  const ModelFile file = parse_model_file(
      if_model("from_data", branch("MatMul", {"x", "w"}, weight), branch("MatMul", {"x", "w"})).bytes(), "m.onnx");
  const Imported imported = import_model(file, {});
  std::vector<std::string> why;
  for (const ParameterReport& r : imported.parameters) {
    if (r.name == "w") why.push_back(r.trains ? "trains" : r.why);
  }
  EXPECT_THAT(why, testing::ElementsAre("trains", HasSubstr("a name that another tensor has too")));
  const HostTensor changed = HostTensor::f32({3, 3}, std::vector<float>(9, 5));
  const TemporaryFolder folder;
  export_model(file, {{"w", changed}}, folder / "out.onnx");
  const ModelFile out = read_model_file(folder / "out.onnx");
  for (const auto& attribute : out.proto.graph().node(0).attribute()) {
    if (attribute.name() != "then_branch") continue;
    EXPECT_EQ(read_tensor(attribute.g().initializer(0), out), weight);
  }
}

// ---- loops

GraphBuilder loop_body(bool with_scan) {
  GraphBuilder body("body");
  body.input("i").input("c").input("h");
  body.node("Tanh", {"h"}, {"t"}).node("Mul", {"t", "w"}, {"h2"}).node("Identity", {"c"}, {"c2"});
  body.output("c2").output("h2");
  if (with_scan) body.output("t");
  return body;
}

ModelBuilder loop_model(Strings inputs, bool with_scan = false) {
  ModelBuilder m(17);
  m.graph.input("x", f32_type({2, kT}))
      .input("from_data", {{DataType::boolean, {}}})
      .input("count", {{DataType::i64, {}}})
      .initializer("w", HostTensor::f32({1, 1}, std::vector<float>{2}))
      .initializer("three", HostTensor::i64({}, std::vector<int64_t>{3}))
      .initializer("many", HostTensor::i64({}, std::vector<int64_t>{int64_t{1} << 60}))
      .initializer("no", bool_tensor({}, {0}))
      .node("Shape", {"x"}, {"size"}, {{"start", 1}})
      .node("Loop", std::move(inputs), with_scan ? Strings{"y", "all"} : Strings{"y"}, {{"body", loop_body(with_scan)}},
            "loop")
      .output("y");
  if (with_scan) m.graph.output("all");
  return m;
}

// The graph is made again for each number of trips.
TEST(Loop, TripsThatTheDataCount) {
  const Graph guess = import_model(parse_model_file(loop_model({"count", "", "x"}, true).bytes(), "m.onnx"), {}).graph;
  ASSERT_EQ(guess.segment_ends.size(), 1u);
  EXPECT_EQ(guess.segment_ends[0].origin, "loop (Loop)");
  ASSERT_TRUE(static_cast<bool>(guess.segment_ends[0].rebuild));
  for (const int64_t trips : {0, 3}) {
    const auto graph = guess.segment_ends[0].rebuild({i64_tensor({}, {trips})});
    verify(*graph);
    EXPECT_TRUE(graph->segment_ends.empty());
    EXPECT_EQ(to_string(graph->at(graph->find_output("all")->value).type), fmt::format("float32 {} x N x T", trips));
  }
}

TEST(Loop, Refusals) {
  EXPECT_EQ(refusal(loop_model({"three", "", "x"}, true)), "");
  EXPECT_EQ(refusal(loop_model({"three", "from_data", "x"})), "");
  EXPECT_EQ(refusal(loop_model({"many", "no", "x"}, true)), "");
  EXPECT_THAT(refusal(loop_model({"three", "from_data", "x"}, true)),
              HasSubstr("scan output 0 has as many entries as the data tell"));
  EXPECT_THAT(refusal(loop_model({"size", "", "x"})), HasSubstr("the number of trips is the open size 'T'"));
  EXPECT_THAT(refusal(loop_model({"", "from_data", "x"})), HasSubstr("depends on the data and has no bound"));
  EXPECT_THAT(refusal(loop_model({"many", "", "x"})), HasSubstr("more than 20000 trips"));
  EXPECT_THAT(refusal(loop_model({"three", "", "x", "x"})), HasSubstr("'body' has 3 inputs, expected 4"));
}

TEST(Loop, NestedLoopsAreBounded) {
  GraphBuilder inner("inner");
  inner.input("j")
      .input("d")
      .input("g")
      .node("Neg", {"g"}, {"g2"})
      .node("Identity", {"d"}, {"d2"})
      .output("d2")
      .output("g2");
  GraphBuilder outer("outer");
  outer.input("i")
      .input("c")
      .input("h")
      .node("Loop", {"trips", "", "h"}, {"h2"}, {{"body", inner}})
      .node("Identity", {"c"}, {"c2"})
      .output("c2")
      .output("h2");
  ModelBuilder m(17);
  m.graph.input("x", f32_type({2}))
      .initializer("trips", HostTensor::i64({}, std::vector<int64_t>{20'000}))
      .node("Loop", {"trips", "", "x"}, {"y"}, {{"body", outer}})
      .output("y");
  EXPECT_THAT(refusal(m), HasSubstr("loops expand to more than"));
}

TEST(Loop, GradientsOfABodyThatMayStop) {
  for (const bool stops : {false, true}) {
    ModelBuilder m(17);
    GraphBuilder body("body");
    body.input("i").input("c").input("h");
    body.node("Log", {"h"}, {"l"}).node("Mul", {"l", "w"}, {"h2"}).node("ReduceSum", {"h2"}, {"s"}, {{"keepdims", 0}});
    body.node("Greater", {"s", "bound"}, {"go"}).output("go").output("h2");
    m.graph.initializer("x", f64_tensor({2}, {9, 7}))
        .initializer("w", f64_tensor({2}, {1.1, 1.3}))
        .initializer("bound", f64_tensor({}, {stops ? 3.0 : -9.0}))
        .initializer("true", bool_tensor({}, {1}))
        .initializer("most", i64_tensor({}, {stops ? 5 : 2}))
        .node("Loop", {"most", "true", "x"}, {"y"}, {{"body", body}})
        .output("y");
    check_gradient(stops ? "loop that stops" : "loop", m, {"x", "w"});
  }
}

TEST(Scan, GradientsOfStackedWeights) {
  ModelBuilder m(17);
  GraphBuilder body("body");
  body.input("h")
      .input("wi")
      .node("MatMul", {"h", "wi"}, {"p"})
      .node("Sigmoid", {"p"}, {"h2"})
      .node("Identity", {"h2"}, {"o"});
  body.output("h2").output("o");
  m.graph.initializer("x", f64_tensor({1, 2}, {0.4, -0.7}))
      .initializer("w", f64_tensor({3, 2, 2}, {1, -2, 0.5, 1, 0.3, 2, -1, 1, 0.1, 0.2, 0.3, -0.4}))
      .node("Scan", {"x", "w"}, {"last", "all"},
            {{"body", body}, {"num_scan_inputs", 1}, {"scan_input_directions", Ints{1}}})
      .output("last")
      .output("all");
  check_gradient("scan", m, {"x", "w"});
}

// ---- sequences

TEST(Sequence, Refusals) {
  const auto with = [](std::string op, Strings inputs, Attributes attributes = {}) {
    ModelBuilder m(17);
    m.graph.input("x", f32_type({2, 3}))
        .input("at", {{DataType::i64, {}}})
        .initializer("nine", HostTensor::i64({}, std::vector<int64_t>{9}))
        .initializer("minus_two", HostTensor::i64({}, std::vector<int64_t>{-2}))
        .node("SequenceConstruct", {"x", "x"}, {"seq"})
        .node(std::move(op), std::move(inputs), {"y"}, std::move(attributes), "node")
        .output("y");
    return refusal(m);
  };
  EXPECT_EQ(with("SequenceAt", {"seq", "minus_two"}), "");
  EXPECT_THAT(with("SequenceAt", {"seq", "nine"}), HasSubstr("position 9 of a sequence with 2 places"));
  EXPECT_THAT(with("SequenceAt", {"seq", "at"}), HasSubstr("computed from the data"));
  EXPECT_THAT(with("SequenceAt", {"x", "nine"}), HasSubstr("input 0 is no sequence"));
  EXPECT_THAT(with("Relu", {"seq"}), HasSubstr("input 0 ('seq') is a sequence, expected a tensor"));
  EXPECT_THAT(with("ConcatFromSequence", {"seq"}, {{"axis", 5}}), HasSubstr("axis"));
  EXPECT_THAT(with("Identity", {"seq"}), HasSubstr("output 'y' is not a tensor"));
}

}  // namespace
}  // namespace arbalest
