// Operators of com.microsoft: values of onnxruntime (tests/data/microsoft), gradients against differences.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "onnx_import/model.h"
#include "tests/onnx_import/operator_check.h"

namespace arbalest {
namespace {

void expect_close(const std::string& name, const HostTensor& got, const HostTensor& want) {
  ASSERT_EQ(to_string(got.dims), to_string(want.dims)) << name;
  EXPECT_EQ(name_of(got.dtype), name_of(want.dtype)) << name;
  const HostTensor a = got.to(DataType::f64), b = want.to(DataType::f64);
  for (size_t i = 0; i < b.as<double>().size(); ++i) {
    const double expected = b.as<double>()[i];
    EXPECT_NEAR(a.as<double>()[i], expected, 2e-6 * (1 + std::abs(expected))) << name << " element " << i;
  }
}

TEST(Microsoft, ComputesWhatOnnxruntimeDoes) {
  const auto folder = std::filesystem::path(ARBALEST_TEST_DATA) / "microsoft";
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++models;
    try {
      const auto outputs = run_model(read_model_file(entry.path().string()));
      const auto tensors = read_initializers(*load_model(entry.path().string()));
      for (const auto& [name, got] : outputs) expect_close(name, got, tensors.at("expected/" + name));
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
  EXPECT_GT(models, 30);
}

TEST(OperatorGradient, Microsoft) {
  const auto row = [](const char* op, std::vector<CheckedOperand> operands, Attributes attributes, int outputs = 1) {
    check_gradient({op, op, 1, std::move(operands), std::move(attributes), outputs, "com.microsoft"});
  };
  row("Gelu", {Dims{2, 3}}, {});
  row("FastGelu", {Dims{2, 3}, Dims{3}}, {});
  row("BiasGelu", {Dims{2, 3}, Dims{3}}, {});
  row("QuickGelu", {Dims{2, 3}}, {{"alpha", 1.5}});
  row("LayerNormalization", {Dims{2, 3, 4}, Dims{4}, Dims{4}}, {});
  row("SimplifiedLayerNormalization", {Dims{2, 3, 4}, Dims{4}}, {});
  row("SkipLayerNormalization", {Dims{2, 3, 4}, Dims{3, 4}, Dims{4}, Dims{4}, Dims{4}}, {});
  row("SkipSimplifiedLayerNormalization", {Dims{2, 3, 4}, Dims{2, 3, 4}, Dims{4}, Dims{4}}, {});
  const HostTensor ids = i64_tensor({2, 3}, {1, 0, 2, 3, 3, 1}), segments = i64_tensor({2, 3}, {0, 1, 1, 0, 0, 1});
  row("EmbedLayerNormalization", {ids, segments, Dims{4, 4}, Dims{5, 4}, Dims{2, 4}, Dims{4}, Dims{4}}, {});
  row("FusedMatMul", {Dims{2, 4, 3}, Dims{2, 5, 4}}, {{"transA", 1}, {"transB", 1}, {"alpha", 0.5}});
  row("FusedMatMul", {Dims{3, 2, 4}, Dims{2, 4, 5}}, {{"transBatchA", 1}});
  row("TransposeMatMul", {Dims{4, 3}, Dims{4, 5}}, {{"transA", 1}});
  row("FusedConv", {Dims{1, 2, 3, 3}, Dims{2, 2, 2, 2}, Dims{2}, Dims{1, 2, 2, 2}}, {{"activation", "Tanh"}});
  row("FusedGemm", {Dims{3, 4}, Dims{4, 2}, Dims{2}}, {{"activation", "Sigmoid"}});
  const HostTensor mask = i64_tensor({2, 3}, {1, 1, 0, 1, 1, 1}).to(DataType::i32);
  row("Attention", {Dims{2, 3, 4}, Dims{4, 12}, Dims{12}, mask}, {{"num_heads", 2}, {"unidirectional", 1}});
  row("MultiHeadAttention", {Dims{2, 3, 4}, Dims{2, 3, 4}, Dims{2, 3, 6}, Dims{14}, mask, Dims{1, 2, 3, 3}},
      {{"num_heads", 2}});
  row("RotaryEmbedding",
      {Dims{2, 3, 4}, ids, f64_tensor({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), f64_tensor({4, 2}, {8, 7, 6, 5, 4, 3, 2, 1})},
      {});
}

}  // namespace
}  // namespace arbalest
