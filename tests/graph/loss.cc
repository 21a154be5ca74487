#include "graph/loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "graph/print.h"
#include "tests/graph/small_graphs.h"

namespace arbalest {
namespace {

std::string text_with_loss(Graph& graph, const LossOptions& options, std::string* notice = nullptr) {
  const std::string said = attach_loss(graph, options);
  if (notice) *notice = said;
  graph.outputs.clear();  // what only an output needs goes
  drop_dead_nodes(graph);
  verify(graph);
  return to_text(graph);
}

TEST(Loss, CrossEntropy) {
  Graph graph;
  Builder b(graph);
  b.add_output("y", data(b, "x", f32({N, 10})));
  EXPECT_EQ(text_with_loss(graph, {}), R"(data %x : float32 N x 10
label %label : int64 N
%0, %1 = CrossEntropy(%x, %label) {axis 1, reduction mean, ignore_index none, weights no} : float32 scalar, float32 N x 10  # loss
%2 = ArgReduce(%x) {kind max, axis 1, keep no, last no} : int64 N  # loss
%3 = Map(%2, %label) {expression int64(x0 == x1)} : int64 N  # loss
%4 = Reduce(%3) {kind sum, axes [0], keep no} : int64 scalar  # loss
loss = %0
correct = %4
)");
}

TEST(Loss, SoftmaxIsNotAppliedTwice) {
  struct Case {
    std::function<Value(const Value&)> output;
    const char* recognised;
  };
  const auto softmax = [](int axis, bool log) {
    return [=](const Value& x) { return x.builder().emit_one(Softmax{axis, log}, {x}); };
  };
  const Case kCases[] = {
      {softmax(1, false), "Softmax"},
      {softmax(1, true), "LogSoftmax"},
      {[&](const Value& x) {
         return reshape(softmax(1, false)(reshape(x, {N, 10})), {N, 10, 1, 1});
       },
       "Softmax"},
      {[&](const Value& x) {
         return reshape(softmax(1, false)(x), {N, 10});
       },
       "Softmax"},
      {softmax(0, false), ""},
      {[&](const Value& x) { return softmax(1, false)(x) * 2.0; }, ""},
      {[&](const Value& x) {
         return reshape(softmax(1, false)(x), {1, N * 10});
       },
       ""},
  };
  for (const Case& c : kCases) {
    Graph graph;
    Builder b(graph);
    b.add_output("y", c.output(data(b, "x", f32({N, 10, 1, 1}))));
    std::string notice;
    const std::string text = text_with_loss(graph, {}, &notice);
    const bool recognised = *c.recognised != '\0';
    EXPECT_EQ(notice,
              recognised
                  ? fmt::format("the final {} of the output is part of the loss and is not applied twice", c.recognised)
                  : "");
    EXPECT_EQ(text.find(" Softmax") == std::string::npos, recognised) << text;
  }
}

TEST(Loss, ClassesOnAnotherAxisWithWeightsAndIgnoredLabels) {
  Graph graph;
  Builder b(graph);
  b.add_output("y", data(b, "x", f32({N, 7, 3})));
  LossOptions options;
  options.class_axis = -1;
  options.ignore_index = 2;
  options.class_weights = {1, 2, 3};
  const std::string text = text_with_loss(graph, options);
  EXPECT_THAT(text, testing::HasSubstr("label %label : int64 N x 7"));
  EXPECT_THAT(text,
              testing::HasSubstr("CrossEntropy(%x, %label, %0) {axis 2, reduction mean, ignore_index 2, weights yes}"));
  EXPECT_THAT(text, testing::HasSubstr("x0 == x1 && "));
}

TEST(Loss, BinaryCrossEntropy) {
  Graph graph;
  Builder b(graph);
  const Value x = data(b, "x", f32({N, 1}));
  b.add_output("y", map([](const Scalar& e) { return sigmoid(e); }, x));
  LossOptions options;
  options.kind = LossKind::binary_cross_entropy;
  std::string notice;
  const std::string text = text_with_loss(graph, options, &notice);
  EXPECT_EQ(notice, "the final Sigmoid of the output is part of the loss and is not applied twice");
  EXPECT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.at(graph.inputs[1].value).type, f32({N, 1}));

  // Against -y log s(x) - (1 - y) log(1 - s(x)) where that does not overflow, and finite where it would.
  const Scalar& loss = std::get<Map>(graph.nodes[0].primitive).expression;
  for (const double value : {-20.0, -1.0, 0.0, 0.5, 20.0}) {
    for (const double y : {0.0, 0.3, 1.0}) {
      const double s = 1 / (1 + std::exp(-value));
      EXPECT_NEAR(evaluate(loss, std::vector<double>{value, y}), -y * std::log(s) - (1 - y) * std::log1p(-s), 1e-7);
    }
  }
  EXPECT_EQ(evaluate(loss, std::vector<double>{1000, 1}), 0);
  EXPECT_EQ(evaluate(loss, std::vector<double>{-1000, 1}), 1000);
}

TEST(Loss, SeveralColumnsHaveNoAccuracy) {
  Graph graph;
  Builder b(graph);
  b.add_output("y", data(b, "x", f32({N, 3})));
  LossOptions options;
  options.kind = LossKind::binary_cross_entropy;
  attach_loss(graph, options);
  EXPECT_FALSE(graph.correct);
}

TEST(Loss, MeanSquaredError) {
  Graph graph;
  Builder b(graph);
  b.add_output("y", data(b, "label", f64({N, 3})));
  LossOptions options;
  options.kind = LossKind::mean_squared_error;
  EXPECT_EQ(text_with_loss(graph, options), R"(data %label : float64 N x 3
label %label_ : float64 N x 3
%0 = Map(%label, %label_) {expression (x0 - x1) * (x0 - x1)} : float64 N x 3  # loss
%1 = Reduce(%0) {kind mean, axes [0, 1], keep no} : float64 scalar  # loss
loss = %1
)");
}

TEST(Loss, TheOutputItself) {
  Graph graph;
  Builder b(graph);
  const Value x = data(b, "x", f32({}));
  b.add_output("y", x);
  LossOptions options;
  options.kind = LossKind::output_mean;
  attach_loss(graph, options);
  verify(graph);
  EXPECT_EQ(graph.loss, x.id());
  EXPECT_EQ(graph.inputs.size(), 1u);
}

TEST(Loss, SeveralAreAddedWithTheirWeights) {
  Graph graph;
  Builder b(graph);
  b.add_output("cls", data(b, "x", f32({N, 10})));
  b.add_output("box", data(b, "z", f32({N, 4})));
  LossOptions cls, box;
  cls.output = "cls";
  cls.label = "label/cls";
  box.kind = LossKind::mean_squared_error;
  box.output = "box";
  box.label = "label/box";
  box.weight = 0.5;
  EXPECT_TRUE(attach_losses(graph, {cls, box}).empty());
  graph.outputs.clear();
  graph.correct = ValueId();
  drop_dead_nodes(graph);
  verify(graph);
  EXPECT_EQ(to_text(graph), R"(data %x : float32 N x 10
data %z : float32 N x 4
label %label/cls : int64 N
label %label/box : float32 N x 4
%0, %1 = CrossEntropy(%x, %label/cls) {axis 1, reduction mean, ignore_index none, weights no} : float32 scalar, float32 N x 10  # loss
%2 = Map(%z, %label/box) {expression (x0 - x1) * (x0 - x1)} : float32 N x 4  # loss
%3 = Reduce(%2) {kind mean, axes [0, 1], keep no} : float32 scalar  # loss
%4 = Map(%3) {expression 0.5 * x0} : float32 scalar  # loss
%5 = Map(%0, %4) {expression x0 + x1} : float32 scalar  # loss
loss = %5
)");
}

TEST(Loss, WrongRequests) {
  const auto error = [](const LossOptions& options, bool with_second, DataType type = DataType::f32) {
    Graph graph;
    Builder b(graph);
    const Value x = data(b, "x", {type, {N, 3}});
    b.add_output("a", x);
    b.add_output("i", b.emit_one(ArgReduce{Reduction::max, 1}, {x}));
    if (with_second) b.add_output("b", x);
    try {
      attach_loss(graph, options);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::usage);
      return std::string(e.what());
    }
    return std::string("no error");
  };
  LossOptions options;
  EXPECT_EQ(error(options, false), "no error");
  EXPECT_EQ(error(options, true),
            "the model has several outputs: a (float32 N x 3), i (int64 N), b (float32 N x 3); choose one of them");
  EXPECT_EQ(error(options, false, DataType::i32),
            "the model has no float output to train: it has a (int32 N x 3), i (int64 N)");
  options.output = "c";
  EXPECT_EQ(error(options, false), "output 'c': the model has no such output, it has a (float32 N x 3), i (int64 N)");
  options.output = "i";
  EXPECT_EQ(error(options, false), "output 'i': a loss needs a float output, this one is int64 N");
  options.output = "a";
  options.class_axis = 2;
  EXPECT_EQ(error(options, true), "class axis 2 of a rank-2 output");
  options.class_axis = 1;
  options.class_weights = {1, 2};
  EXPECT_EQ(error(options, true), "2 class weights for 3 classes");
}

}  // namespace
}  // namespace arbalest
