// Building, printing, binding and verifying graphs.

#include "graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/primitive_fields.h"
#include "graph/print.h"
#include "tests/graph/small_graphs.h"

namespace arbalest {
namespace {

using testing::HasSubstr;

// A small classifier with everything that a text shows.
void classifier(Graph& graph) {
  Builder b(graph);
  const Value x = data(b, "x", f32({N, 1, 6, 6}));
  const Value w = b.add_input("conv1.weight", InputRole::parameter, f32({2, 1, 3, 3}),
                              std::make_shared<const HostTensor>(DataType::f32, Dims{2, 1, 3, 3}));
  const Value v = parameter(b, "7", f32({2, 32}));
  const Value mean = b.add_input("mean", InputRole::state, f32({}));
  b.set_origin("conv1 (Conv)");
  Value h = b.emit_one(Conv{window(2), 1, false}, {x, w});
  b.set_origin("relu (Relu)");
  h = map([](const Scalar& e) { return relu(e); }, h);
  b.set_origin("");
  const Value y = matmul(reshape(h, {N, 32}), v, false, true);
  b.add_output("y", y);
  const Value scale = b.constant(tensor_f32({2}, {0.5f, 2}));
  graph.loss = reduce(Reduction::mean, y * scale, {0, 1}, Keep::no).id();
  graph.updates.push_back({mean.id(), b.value(graph.loss).id()});
  graph.gradients.push_back({w.id(), ValueId()});
}

constexpr const char* kClassifierText =
    R"(data %x : float32 N x 1 x 6 x 6
parameter %conv1.weight : float32 2 x 1 x 3 x 3
parameter %"7" : float32 2 x 32
state %mean : float32 scalar
%0 = Conv(%x, %conv1.weight) {strides [1, 1], dilations [1, 1], pads_begin [0, 0], pads_end [0, 0], groups 1, bias no} : float32 N x 2 x 4 x 4  # conv1 (Conv)
%1 = Map(%0) {expression relu(x0)} : float32 N x 2 x 4 x 4  # relu (Relu)
%2 = Reshape(%1) {shape [N, 32]} : float32 N x 32
%3 = MatMul(%2, %"7") {transpose_a no, transpose_b yes, bias no} : float32 N x 2
%4 = Constant() {value [0.5, 2]} : float32 2
%5 = Map(%3, %4) {expression x0 * x1} : float32 N x 2
%6 = Reduce(%5) {kind mean, axes [0, 1], keep no} : float32 scalar
output y = %3
loss = %6
gradient of %conv1.weight = none
next %mean = %6
)";

TEST(Print, Text) {
  Graph graph;
  classifier(graph);
  verify(graph);
  EXPECT_EQ(to_text(graph), kClassifierText);
}

TEST(Print, Dot) {
  Graph graph;
  Builder b(graph);
  b.set_origin("the \"node\"");
  b.add_output("y", -data(b, "x", f32({2})));
  EXPECT_EQ(to_dot(graph), R"(digraph {
  node [shape=box];
  v0 [shape=ellipse, label="x"];
  n0 [label="Map\lthe \"node\"\l"];
  v0 -> n0 [label="2"];
  o0 [shape=ellipse, label="y"];
  n0 -> o0;
}
)");
}

TEST(Print, LongListsAndTensorsAreCut) {
  const HostTensor ones(DataType::boolean, {9});
  EXPECT_EQ(fields_text(Constant{std::make_shared<const HostTensor>(ones)}), "{value [0, 0, 0, 0, 0, 0, 0, 0, ...]}");
  EXPECT_EQ(fields_text(ShapeTensor{{N, 3}, {2}, DataType::i32}), "{values [N, 3], shape [2], dtype int32}");
  EXPECT_EQ(fields_text(CrossEntropy{1, LossReduction::sum, -100, false}),
            "{axis 1, reduction sum, ignore_index -100, weights no}");
  EXPECT_EQ(fields_text(StopGradient{}), "");
}

TEST(Fields, EqualityAndHash) {
  const auto tensor = [](float v) { return Constant{tensor_f32({1}, {v})}; };
  EXPECT_TRUE(equal(tensor(1), tensor(1)));
  EXPECT_EQ(hash(tensor(1)), hash(tensor(1)));
  EXPECT_FALSE(equal(tensor(0), tensor(-0.0f)));
  EXPECT_TRUE(equal(tensor(NAN), tensor(NAN)));
  const Conv conv{window(2), 1, false};
  for (const Primitive& other : std::vector<Primitive>{Conv{window(2, 2), 1, false}, Conv{window(2), 2, false},
                                                       Conv{window(2), 1, true}, StopGradient{}}) {
    EXPECT_FALSE(equal(conv, other));
    EXPECT_NE(hash(conv), hash(other));
  }
  EXPECT_TRUE(equal(Reshape{{N + 1}}, Reshape{{Dim(1) + N}}));
  EXPECT_EQ(hash(Reshape{{N + 1}}), hash(Reshape{{Dim(1) + N}}));
}

TEST(Bind, ReplacesEverySymbol) {
  Graph graph;
  classifier(graph);
  Builder b(graph);
  const Value sizes = b.integers({N, N * 2}, {2});
  b.add_output("sizes", sizes);
  EXPECT_EQ(symbols(graph), std::vector<std::string>{"N"});
  bind(graph, {{"N", 5}});
  verify(graph);
  EXPECT_EQ(graph.at(graph.outputs[0].value).type, f32({5, 2}));
  const auto& constant = std::get<Constant>(graph.producer(sizes.id())->primitive);
  EXPECT_THAT(constant.value->as<int64_t>(), testing::ElementsAre(5, 10));
  EXPECT_EQ(graph.at(sizes.id()).contents, (std::vector<Dim>{5, 10}));
  EXPECT_THAT(to_text(graph), testing::Not(HasSubstr("N")));
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Bind, NamesWhatDoesNotFit) {
  Graph graph;
  Builder b(graph);
  const Value x = data(b, "x", f32({N, 3}));
  b.set_origin("view (Reshape)");
  reshape(x, {4, 3});
  Graph missing = graph;
  EXPECT_EQ(error_of([&] { bind(missing, {}); }), "no size given for N");
  EXPECT_EQ(error_of([&] {
              bind(graph, {{"N", 5}});
            }),
            "view (Reshape): cannot reshape 5 x 3 (15 elements) to 4 x 3 (12 elements)");
}

TEST(Graph, ReplacesChains) {
  Graph graph;
  Builder b(graph);
  const Value x = data(b, "x", f32({2}));
  const Value y = -x, z = exp(y);
  b.add_output("z", z);
  std::vector<ValueId> replacement(graph.values.size());
  replacement[z.id().at()] = y.id();
  replacement[y.id().at()] = x.id();
  graph.replace_uses(replacement);
  EXPECT_EQ(graph.outputs[0].value, x.id());
  EXPECT_EQ(graph.nodes[1].inputs[0], x.id());
}

// Each breaks a good graph in one way.
struct Breakage {
  std::function<void(Graph&)> apply;
  const char* message;
};

TEST(Verify, FindsWhatIsBroken) {
  const ValueId x(0), w(1), mean(3), conv(4), relu(5);
  const Breakage kBreakages[] = {
      {[&](Graph& g) { g.nodes[0].inputs[0] = ValueId(99); }, "node 0 (Conv of conv1 (Conv)): value 99 of 11"},
      {[&](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }, "nothing before it computes value 4"},
      {[&](Graph& g) { g.nodes[1].outputs[0] = conv; }, "value 4 is already computed elsewhere"},
      {[&](Graph& g) { g.nodes[1].outputs[0] = x; }, "value 0 is already computed elsewhere"},
      {[&](Graph& g) { g.at(relu).producer = NodeId(0); }, "value 5 names another producer"},
      {[&](Graph& g) { g.at(relu).type.shape[0] = 7; },
       "node 1 (Map of relu (Relu)): output 0 has type float32 7 x 2 x 4 x 4, expected float32 N x 2 x 4 x 4"},
      {[&](Graph& g) { g.at(w).type.shape[1] = 3; }, "input conv1.weight: its type is float32 2 x 3 x 3 x 3"},
      {[&](Graph& g) { g.at(x).type.shape[1] = 3; }, "weight expects 1 input channels, the input has 3"},
      {[&](Graph& g) {
         g.at(relu).contents = {1, 2};
       },
       "with 2 known elements"},
      {[&](Graph& g) { g.inputs[1].name = "x"; }, "input x: two inputs have this name"},
      {[&](Graph& g) { g.outputs[0].value = ValueId(); }, "output y: value -1"},
      {[&](Graph& g) { g.loss = conv; }, "loss: type float32 N x 2 x 4 x 4, expected a float scalar"},
      {[&](Graph& g) { g.correct = g.loss; }, "correct: type float32 scalar, expected int64 scalar"},
      {[&](Graph& g) { g.gradients[0].gradient = conv; }, "gradient: type float32 N x 2 x 4 x 4, expected"},
      {[&](Graph& g) { g.gradients[0].parameter = x; }, "gradient: value 0 is not such an input"},
      {[&](Graph& g) { g.updates[0].next = x; }, "update: type float32 N x 1 x 6 x 6, expected float32 scalar"},
      {[&](Graph& g) { g.updates[0].state = conv; }, "update: value 4 is not such an input"},
      {[&](Graph& g) {
         g.values.push_back({f32({}), "", NodeId(size_t{0}), {}});
       },
       "value 11: its producer does not list it among its outputs"},
  };
  for (const Breakage& breakage : kBreakages) {
    Graph graph;
    classifier(graph);
    breakage.apply(graph);
    EXPECT_THAT(error_of([&] { verify(graph); }), HasSubstr(breakage.message));
  }
  EXPECT_EQ(mean.at(), 3u);
}

TEST(Builder, LeavesOutWhatChangesNothing) {
  Graph graph;
  Builder b(graph);
  const Value x = data(b, "x", f32({N, 3}));
  EXPECT_EQ(reshape(x, {N, 3}), x);
  EXPECT_EQ(transpose(x, {0, 1}), x);
  EXPECT_EQ(expand(x, {N, 3}), x);
  EXPECT_EQ(slice(x, 1, 0, 3), x);
  EXPECT_EQ(concat({x}, 0), x);
  EXPECT_EQ(cast(x, DataType::f32), x);
  EXPECT_EQ(x * 1.0, x);
  EXPECT_EQ(reduce(Reduction::sum, x, {}, Keep::yes), x);
  EXPECT_EQ(sum_to_shape(x, {N, 3}), x);
  EXPECT_TRUE(graph.nodes.empty());
  EXPECT_EQ(map([](const Scalar& p, const Scalar& q) { return p + q; }, x, x).builder().graph().nodes[0].inputs.size(),
            1u);
}

TEST(Builder, AMapKeepsWhatGivesItItsShape) {
  Graph graph;
  Builder b(graph);
  const Value x = data(b, "x", f32({N, 3})), y = data(b, "y", f32({3}));
  const auto second = [](const Scalar&, const Scalar& q) { return q + 1; };
  EXPECT_EQ(map(second, x, y).type(), f32({N, 3}));
  EXPECT_EQ(graph.nodes.back().inputs.size(), 2u);
  EXPECT_EQ(map(second, y, x).type(), f32({N, 3}));
  EXPECT_EQ(graph.nodes.back().inputs.size(), 1u);
  verify(graph);
}

TEST(Builder, SumsToShape) {
  Graph graph;
  Builder b(graph);
  const Value x = data(b, "x", f32({N, 2, 3, 4}));
  EXPECT_EQ(sum_to_shape(x, {3, 1}).type(), f32({3, 1}));
  EXPECT_EQ(fields_text(graph.nodes[0].primitive), "{kind sum, axes [0, 1, 3], keep no}");
  EXPECT_EQ(sum_to_shape(x, {}).type(), f32({}));
  EXPECT_THROW(x + data(b, "i", i64({})), Error);
}

}  // namespace
}  // namespace arbalest
