// Gradient and the optimisers of ai.onnx.preview.training. (Values of the optimisers: node tests of ONNX.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "onnx_import/importer.h"
#include "tests/onnx_import/operator_check.h"
#include "tools/mentions.h"

namespace arbalest {
namespace {

constexpr const char* kDomain = "ai.onnx.preview.training";

// z = sum(x^2 w); Gradient at the values of `at_x` and w, with one output for each of xs.
ModelBuilder square_model(const char* at_x, Strings xs, Strings zs) {
  ModelBuilder m(17);
  m.opset(kDomain, 1);
  m.graph.initializer("x", f64_tensor({2}, {3, -2})).initializer("w", f64_tensor({2}, {0.5, 4}));
  m.graph.initializer("x2", f64_tensor({2}, {10, 20}));
  m.graph.node("Mul", {"x", "x"}, {"s"})
      .node("Mul", {"s", "w"}, {"p"})
      .node("ReduceSum", {"p"}, {"z"}, {{"keepdims", 0}});
  Strings inputs, outputs;
  for (const std::string& n : xs) inputs.push_back(n == "x" ? at_x : n), outputs.push_back("d" + n);
  for (const std::string& n : zs) inputs.push_back(n == "x" ? at_x : n);
  m.graph.node("Gradient", inputs, outputs, {{"xs", xs}, {"zs", zs}, {"y", "z"}}, "gradient", kDomain);
  for (const std::string& name : outputs) m.graph.output(name);
  return m;
}

std::vector<double> numbers(const HostTensor& t) { return {t.as<double>().begin(), t.as<double>().end()}; }

TEST(Gradient, AtTheValuesOfTheModel) {
  const auto outputs = run_model(parse_model_file(square_model("x", {"x", "w"}, {}).bytes(), "g.onnx"));
  EXPECT_THAT(numbers(outputs.at("dx")), testing::ElementsAre(3, -16));
  EXPECT_THAT(numbers(outputs.at("dw")), testing::ElementsAre(9, 4));
}

TEST(Gradient, AtOtherValues) {
  const auto outputs = run_model(parse_model_file(square_model("x2", {"x"}, {"w"}).bytes(), "g.onnx"));
  EXPECT_THAT(numbers(outputs.at("dx")), testing::ElementsAre(10, 160));
}

TEST(Gradient, OfAnIntermediateTensorAndOfNothing) {
  const auto outputs = run_model(parse_model_file(square_model("x", {"s", "x2"}, {}).bytes(), "g.onnx"));
  EXPECT_THAT(numbers(outputs.at("ds")), testing::ElementsAre(0.5, 4));
  EXPECT_THAT(numbers(outputs.at("dx2")), testing::ElementsAre(0, 0));
}

TEST(Gradient, TwiceIsTheSecondDerivative) {
  ModelBuilder m = square_model("x", {"x"}, {"w"});
  m.graph.outputs.clear();
  m.graph.node("ReduceSum", {"dx"}, {"sum"}, {{"keepdims", 0}});
  m.graph.node("Gradient", {"x"}, {"d2x"}, {{"xs", Strings{"x"}}, {"y", "sum"}}, "second", kDomain).output("d2x");
  const auto outputs = run_model(parse_model_file(m.bytes(), "g.onnx"));
  EXPECT_THAT(numbers(outputs.at("d2x")), testing::ElementsAre(1, 8));
}

TEST(Gradient, TrainsThroughItself) {
  ModelBuilder m = square_model("x", {"x"}, {"w"});
  check_gradient("gradient", m, {"x", "w"});
}

TEST(Gradient, OfAnUnknownTensorIsRefused) {
  ModelBuilder m = square_model("x", {"x"}, {"w"});
  m.graph.nodes.back().attributes.back() = {"y", "loss"};
  try {
    import_model(parse_model_file(m.bytes(), "g.onnx"), {});
    FAIL() << "imported";
  } catch (const Error& e) {
    EXPECT_TRUE(mentions(e.what(), "Gradient") && mentions(e.what(), "loss")) << e.what();
  }
}

// ai.onnx.preview.training, onnx/defs/training/defs.cc: epsilon is 1e-6 where it is not given. With gradients as small
// as that, and fresh states, it halves the step or does more.
TEST(TrainingOperators, EpsilonHasADefault) {
  const std::vector<double> x{1, -2, 0.5}, g{0x1p-20, -0x1p-23, 0x1p-10};
  constexpr double kAlpha = 0.9f, kBeta = 0.999f, kEpsilon = 1e-6f;  // attributes are float32
  const auto run = [&](const char* op, Strings inputs) {
    ModelBuilder m(17);
    m.opset(kDomain, 1);
    m.graph.initializer("r", f64_tensor({}, {0.1})).initializer("t", i64_tensor({}, {0}));
    m.graph.initializer("x", f64_tensor({3}, x)).initializer("g", f64_tensor({3}, g));
    m.graph.initializer("v", f64_tensor({3}, {0, 0, 0})).initializer("h", f64_tensor({3}, {0, 0, 0}));
    Strings outputs{"new_x"};
    for (size_t i = 4; i < inputs.size(); ++i) outputs.push_back("new_" + inputs[i]);
    m.graph.node(op, inputs, outputs, {}, "step", kDomain).output("new_x");
    return numbers(run_model(parse_model_file(m.bytes(), "o.onnx")).at("new_x"));
  };
  const std::vector<double> adagrad = run("Adagrad", {"r", "t", "x", "g", "h"});
  const std::vector<double> adam = run("Adam", {"r", "t", "x", "g", "v", "h"});
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(adagrad[i], x[i] - 0.1 * g[i] / (std::abs(g[i]) + kEpsilon), 1e-12);
    // T = 0: the averages are not corrected.
    const double root = std::sqrt((1 - kBeta) * g[i] * g[i]);
    EXPECT_NEAR(adam[i], x[i] - 0.1 * (1 - kAlpha) * g[i] / (root + kEpsilon), 1e-12);
  }
}

TEST(OperatorGradient, OptimisersAreDifferentiable) {
  const HostTensor rate = f64_tensor({}, {0.1}), count = i64_tensor({}, {3});
  const Dims d{2, 2};
  const HostTensor squares = f64_tensor(d, {1, 2, 0.5, 3});
  const auto row = [&](const char* op, std::vector<CheckedOperand> tensors, Attributes attributes, int outputs) {
    std::vector<CheckedOperand> operands{rate, count};
    operands.insert(operands.end(), tensors.begin(), tensors.end());
    check_gradient({op, op, 1, operands, std::move(attributes), outputs, kDomain});
  };
  row("Adam", {d, d, d, squares}, {{"norm_coefficient", 0.1}, {"epsilon", 0.01}}, 3);
  row("Adagrad", {d, d, squares}, {{"decay_factor", 0.1}, {"epsilon", 0.01}}, 2);
  row("Momentum", {d, d, d, d, d, d}, {{"alpha", 0.9}, {"beta", 0.5}, {"norm_coefficient", 0.1}, {"mode", "nesterov"}},
      4);
}

}  // namespace
}  // namespace arbalest
