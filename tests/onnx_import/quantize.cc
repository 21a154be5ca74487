// The gradient through a pair of QuantizeLinear and DequantizeLinear: 1 inside the range, 0 outside. (Values: node
// tests of ONNX.)
#include <gtest/gtest.h>

#include "tests/onnx_import/operator_check.h"

namespace arbalest {
namespace {

HostTensor number(double value, DataType type) { return f64_tensor({}, {value}).to(type); }

ModelBuilder pair_model(bool moved) {
  ModelBuilder m(21);
  m.graph.initializer("w", f64_tensor({2, 3}, {0.5, -1.3, 12.74, 12.8, -12.9, 0.04}))
      .initializer("scale", number(0.1, DataType::f64))
      .initializer("zero", number(0, DataType::i8))
      .node("QuantizeLinear", {"w", "scale", "zero"}, {"q"}, {}, "quantise");
  if (moved) m.graph.node("Transpose", {"q"}, {"t"});
  m.graph.node("DequantizeLinear", {moved ? "t" : "q", "scale", "zero"}, {"d"}, {}, "dequantise");
  m.graph.node("Neg", {"d"}, {"y"}).output("y");
  return m;
}

TEST(Quantize, PassesTheGradientInsideTheRange) {
  for (const bool moved : {false, true}) {
    const ModelFile file = parse_model_file(pair_model(moved).bytes(), "pair.onnx");
    const HostTensor gradient = gradient_of_sum(file, "w");
    const std::vector<double> expected = {-1, -1, -1, 0, 0, -1};  // 12.74 rounds to 127 steps, 12.8 to 128
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_DOUBLE_EQ(gradient.as<double>()[i], expected[i]) << i;
  }
}

// Differences see the steps; the gradient is the straight-through one.
void check_straight_through(ModelBuilder m, const Strings& operators, const std::string& domain) {
  m.graph.node("Neg", {"d"}, {"y"}).output("y");
  const HostTensor gradient = gradient_of_sum(parse_model_file(m.bytes(), "pair.onnx"), "w");
  bool passes = true;
  for (const double g : gradient.as<double>()) passes = passes && g == -1;
  EXPECT_TRUE(passes);
  for (const std::string& op : operators)
    if (passes) count_as_checked(op, domain);
}

TEST(Quantize, PassesTheGradientInEveryDomain) {
  for (const std::string domain : {"", "com.microsoft"}) {
    ModelBuilder m(21);
    if (!domain.empty()) m.opset(domain, 1);
    m.graph.initializer("w", f64_tensor({2, 2}, {0.5, -1.3, 2.74, 0.04}))
        .initializer("scale", number(0.1, DataType::f64))
        .initializer("zero", number(0, DataType::i8))
        .node("QuantizeLinear", {"w", "scale", "zero"}, {"q"}, {}, "", domain)
        .node("DequantizeLinear", {"q", "scale", "zero"}, {"d"}, {}, "", domain);
    check_straight_through(m, {"QuantizeLinear", "DequantizeLinear"}, domain);
  }
  ModelBuilder m(21);
  m.graph.initializer("w", f64_tensor({2, 2}, {0.5, -1.3, 2.74, 0.04}))
      .node("DynamicQuantizeLinear", {"w"}, {"q", "scale", "zero"})
      .node("DequantizeLinear", {"q", "scale", "zero"}, {"d"});
  check_straight_through(m, {"DynamicQuantizeLinear"}, "");
}

TEST(Quantize, KeepsTheRoundedValues) {
  const auto outputs = run_model(parse_model_file(pair_model(false).bytes(), "pair.onnx"));
  const std::vector<double> expected = {-0.5, 1.3, -12.7, -12.7, 12.8, 0};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(outputs.at("y").as<double>()[i], expected[i], 1e-12) << i;
}

}  // namespace
}  // namespace arbalest
