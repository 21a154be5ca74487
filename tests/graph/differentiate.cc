// The structure of gradients; their values are checked in tests/exec/gradient_check.cc.

#include "graph/differentiate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/print.h"
#include "tests/graph/small_graphs.h"

namespace arbalest {
namespace {

using ::testing::ElementsAre;

template <class P>
int64_t count(const Graph& graph) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [](const Node& n) { return std::holds_alternative<P>(n.primitive); });
}

void set_loss(const Value& y) {
  std::vector<int> axes;
  for (int i = 0; i < y.rank(); ++i) axes.push_back(i);
  y.builder().graph().loss = reduce(Reduction::sum, y, axes, Keep::no).id();
}

// The text of the nodes behind the loss, and of the gradients.
std::string gradient_text(Graph& graph) {
  const size_t forward = graph.nodes.size();
  differentiate(graph);
  verify(graph);
  std::string text = to_text(graph);
  for (size_t lines = graph.inputs.size() + forward; lines > 0; --lines) text.erase(0, text.find('\n') + 1);
  return text;
}

TEST(Differentiate, Text) {
  Graph graph;
  Builder b(graph);
  const Value x = data(b, "x", f32({8, 3})), w = parameter(b, "w", f32({4, 3})), c = parameter(b, "c", f32({4}));
  b.set_origin("fc (Gemm)");
  const Value h = b.emit_one(MatMul{false, true, true}, {x, w, c});
  b.set_origin("relu (Relu)");
  set_loss(map([](const Scalar& e) { return relu(e); }, h));
  EXPECT_EQ(gradient_text(graph),
            R"(%3 = Constant() {value [1]} : float32 scalar  # gradient of the loss
%4 = Expand(%3) {shape [8, 4]} : float32 8 x 4  # gradient of relu (Relu)
%5 = Map(%1, %4) {expression select(x0 > 0, x1, 0)} : float32 8 x 4  # gradient of relu (Relu)
%6 = MatMul(%5, %x) {transpose_a yes, transpose_b no, bias no} : float32 4 x 3  # gradient of fc (Gemm)
%7 = Reduce(%5) {kind sum, axes [0], keep no} : float32 4  # gradient of fc (Gemm)
loss = %2
gradient of %w = %6
gradient of %c = %7
)");
}

// The steps of a loop cut one value into parts: their gradients lie side by side, none is padded to the whole.
TEST(Differentiate, SlicesOfOneValueAreJoined) {
  Graph graph;
  Builder b(graph);
  const Value w = parameter(b, "w", f32({4, 3}));
  Value sum = slice(w, 0, 3, 1);
  for (int64_t i = 3; i-- > 0;) sum = sum * slice(w, 0, i, 1);
  set_loss(sum);
  differentiate(graph);
  drop_dead_nodes(graph);
  EXPECT_EQ(count<SliceBackward>(graph), 0);
  EXPECT_EQ(count<Pad>(graph), 0);
  EXPECT_EQ(count<Concat>(graph), 1);
}

TEST(Differentiate, SlicesThatOverlapOrLeaveGaps) {
  Graph graph;
  Builder b(graph);
  const Value w = parameter(b, "w", f32({9}));
  set_loss(slice(w, 0, 1, 2) * slice(w, 0, 2, 2) * slice(w, 0, 4, 2));  // the second shares an element with the first
  const size_t forward = graph.nodes.size();
  differentiate(graph);
  verify(graph);
  std::vector<std::string> sides;
  for (size_t i = forward; i < graph.nodes.size(); ++i) {
    if (const auto* pad = std::get_if<Pad>(&graph.nodes[i].primitive))
      sides.push_back(to_string(pad->begin[0]) + " " + to_string(pad->end[0]));
  }
  EXPECT_THAT(sides, ElementsAre("1 0", "1 3", "2 5"));
}

// A rule that was run once for each path would be run 2^40 times.
TEST(Differentiate, VisitsEachNodeOnce) {
  Graph graph;
  Builder b(graph);
  Value v = parameter(b, "v", f32({2}));
  const Scalar sum = Scalar::input(0, DataType::f32) + Scalar::input(1, DataType::f32);
  for (int i = 0; i < 40; ++i) v = b.emit_one(Map{sum}, {v, v});
  set_loss(v);
  const size_t forward = graph.nodes.size();
  differentiate(graph);
  verify(graph);
  EXPECT_LE(graph.nodes.size(), 2 * forward + 5);
}

TEST(Differentiate, DeepGraphs) {
  Graph graph;
  Builder b(graph);
  Value v = parameter(b, "v", f32({2}));
  for (int i = 0; i < 20000; ++i) v = exp(v);
  set_loss(v);
  differentiate(graph);
  verify(graph);
  EXPECT_EQ(graph.nodes.size(), 20000 + 1 + 20000 + 2);
}

// Every gradient is summed before the rule that uses it runs, and the sum is one Map.
TEST(Differentiate, SumsContributionsInOneMap) {
  Graph graph;
  Builder b(graph);
  const Value v = exp(parameter(b, "v", f32({2})));
  Value y = v * data(b, "x0", f32({2}));
  for (int i = 1; i < 5; ++i) y = y + v * data(b, "x" + std::to_string(i), f32({2}));
  set_loss(y);
  EXPECT_THAT(gradient_text(graph), testing::HasSubstr("{expression x0 + x1 + x2 + x3 + x4}"));
}

TEST(Differentiate, ManyContributions) {
  Graph graph;
  Builder b(graph);
  const Value v = parameter(b, "v", f32({2}));
  Values terms;
  for (int i = 0; i < 1000; ++i) terms.push_back(v);
  set_loss(concat(terms, 0));
  differentiate(graph);
  verify(graph);
  for (const Node& n : graph.nodes) {
    if (std::holds_alternative<Map>(n.primitive)) {
      EXPECT_LE(n.inputs.size(), 8u);
    }
  }
}

TEST(Differentiate, SumsWhereAnOperandWasBroadcast) {
  Graph graph;
  Builder b(graph);
  const Value x = data(b, "x", f32({5, 3, 4})), w = parameter(b, "w", f32({3, 1})), s = parameter(b, "s", f32({}));
  set_loss(x * w * s);
  differentiate(graph);
  verify(graph);  // the types of the gradients are those of the parameters
  EXPECT_EQ(graph.at(graph.gradients[0].gradient).type, f32({3, 1}));
  EXPECT_EQ(graph.at(graph.gradients[1].gradient).type, f32({}));
}

TEST(Differentiate, OnlyWhereAParameterNeedsIt) {
  Graph graph;
  Builder b(graph);
  const Value x = data(b, "x", f32({8, 1, 6, 6})), w = parameter(b, "w", f32({2, 1, 3, 3}));
  const Value frozen = b.constant(std::make_shared<const HostTensor>(DataType::f32, Dims{4, 2, 3, 3}));
  const Value bias = parameter(b, "b", f32({4})), unused = parameter(b, "unused", f32({4}));
  set_loss(b.emit_one(Conv{window(2), 1, true}, {b.emit_one(Conv{window(2), 1, false}, {x, w}), frozen, bias}));
  set_loss(map([](const Scalar& e) { return e; }, b.value(graph.loss)));
  differentiate(graph);
  verify(graph);
  EXPECT_EQ(count<ConvBackwardData>(graph), 1);
  EXPECT_EQ(count<ConvBackwardWeights>(graph), 1);
  EXPECT_TRUE(graph.gradients[0].gradient);
  EXPECT_TRUE(graph.gradients[1].gradient);
  EXPECT_FALSE(graph.gradients[2].gradient);
  EXPECT_EQ(graph.gradients[2].parameter, unused.id());
}

TEST(Differentiate, WeightsAndBiasOfAConvolutionComeFromOneNode) {
  Graph graph;
  Builder b(graph);
  const Value x = data(b, "x", f32({8, 1, 6, 6})), w = parameter(b, "w", f32({2, 1, 3, 3}));
  set_loss(b.emit_one(Conv{window(2), 1, true}, {x, w, parameter(b, "b", f32({2}))}));
  differentiate(graph);
  EXPECT_EQ(graph.at(graph.gradients[0].gradient).producer, graph.at(graph.gradients[1].gradient).producer);
}

// Relu, sigmoid, tanh, exp: the input of the Map can be freed.
TEST(Differentiate, ReadsTheOutputWhereThatSuffices) {
  const std::function<Scalar(Scalar)> kFunctions[] = {
      [](const Scalar& x) { return relu(x); }, [](const Scalar& x) { return sigmoid(x); },
      [](const Scalar& x) { return tanh(x); }, [](const Scalar& x) { return exp(x); }};
  for (const auto& f : kFunctions) {
    Graph graph;
    Builder b(graph);
    const Value w = parameter(b, "w", f32({2}));
    set_loss(map(f, w));
    differentiate(graph);
    for (size_t i = 2; i < graph.nodes.size(); ++i) {
      EXPECT_EQ(std::count(graph.nodes[i].inputs.begin(), graph.nodes[i].inputs.end(), w.id()), 0) << to_text(graph);
    }
  }
}

TEST(Differentiate, NothingFlows) {
  Graph graph;
  Builder b(graph);
  const Value w = parameter(b, "w", f32({2, 3}));
  const auto floor = [](const Scalar& x) { return Scalar::make(ScalarOp::floor, {x}); };
  const Value index = b.emit_one(ArgReduce{Reduction::max, 1}, {w});
  set_loss(stop_gradient(w) + map(floor, w) + cast(cast(w, DataType::i32), DataType::f32) +
           reshape(cast(index, DataType::f32), {2, 1}));
  const size_t forward = graph.nodes.size();
  differentiate(graph);
  verify(graph);
  EXPECT_FALSE(graph.gradients[0].gradient);
  EXPECT_LE(graph.nodes.size(), forward + 2);
}

TEST(Differentiate, ListsEveryNodeWithoutAGradient) {
  Graph graph;
  Builder b(graph);
  const Value w = parameter(b, "w", f32({2, 3})), x = data(b, "x", f32({2, 3}));
  b.set_origin("first");
  Value y = b.emit_one(SoftmaxBackward{1, false}, {w, x});
  b.set_origin("frozen");
  y = y + b.emit_one(SoftmaxBackward{1, false}, {x, x});
  b.set_origin("second");
  set_loss(b.emit_one(LrnBackward{}, {exp(y), x}));
  try {
    differentiate(graph);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::unsupported);
    EXPECT_STREQ(e.what(),
                 "2 nodes cannot be trained through:\n"
                 "  first: SoftmaxBackward has no gradient\n"
                 "  second: LrnBackward has no gradient");
  }
}

TEST(Differentiate, ARuleThatRefusesIsListed) {
  Graph graph;
  Builder b(graph);
  const Value x = parameter(b, "x", f32({2, 3})), c = data(b, "c", f32({3}));
  b.set_origin("bn");
  const Values norm = b.emit(BatchNorm{}, {x, c, c});
  b.set_origin("ce");
  const Values entropy = b.emit(CrossEntropy{}, {norm[0], data(b, "l", i64({2}))});
  set_loss(entropy[1] + norm[1]);
  try {
    differentiate(graph);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "2 nodes cannot be trained through:\n"
                 "  bn: the mean and the variance of the batch have no gradient of their own\n"
                 "  ce: the probabilities have no gradient");
  }
}

// A matrix that all of the batch shares: one large product, no sum over a batch of products.
TEST(Differentiate, ASharedMatrixMakesOneProduct) {
  Graph graph;
  Builder b(graph);
  const Value x = parameter(b, "x", f32({5, 7, 3})), w = parameter(b, "w", f32({3, 4}));
  set_loss(exp(matmul(x, w)));
  differentiate(graph);
  verify(graph);
  EXPECT_EQ(count<MatMul>(graph), 3);
  EXPECT_EQ(graph.producer(graph.gradients[1].gradient)->primitive.index(), Primitive(MatMul{}).index());
}

TEST(Differentiate, GradientsOfInnerValues) {
  Graph graph;
  Builder b(graph);
  const Value w = parameter(b, "w", f32({2})), y = exp(w), z = y * y;
  set_loss(z);
  const std::vector<ValueId> gradients = gradients_of(graph, graph.loss, {y.id(), graph.loss, w.id()});
  verify(graph);
  EXPECT_EQ(graph.at(gradients[0]).type, f32({2}));
  EXPECT_EQ(graph.at(gradients[1]).type, f32({}));
  EXPECT_EQ(graph.producer(gradients[2])->inputs[1], gradients[0]);
}

}  // namespace
}  // namespace arbalest
