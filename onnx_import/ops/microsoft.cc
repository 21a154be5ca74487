// Operators of the domain com.microsoft that optimisers and quantisers leave behind, but for attention.
#include <algorithm>

#include "graph/base/error.h"
#include "onnx_import/op_context.h"
#include "onnx_import/standardise.h"

namespace arbalest {
namespace {

// What an operator of the default domain does with the node.
Values as_default(OpContext& op, const char* name) { return translator().entries().at({"", name}).translation(op); }
Translation default_operator(const char* name) {
  return [name](OpContext& op) { return as_default(op, name); };
}

// ---- activations

Scalar tanh_gelu(const Scalar& x) {
  return x * (0.5 + 0.5 * tanh(x * (0.035677408136300125 * x * x + 0.7978845608028654)));
}
Scalar erf_gelu(const Scalar& x) { return 0.5 * x * (1 + erf(x * 0.7071067811865476)); }

Values bias_gelu(OpContext& op) {
  return {map([](Scalar x, Scalar b) { return erf_gelu(x + b); }, op.input(0), op.input(1))};
}
Values fast_gelu(OpContext& op) {
  if (!op.has_input(1)) return {map(tanh_gelu, op.input(0))};
  return {map([](Scalar x, Scalar b) { return tanh_gelu(x + b); }, op.input(0), op.input(1))};
}
Values quick_gelu(OpContext& op) {
  const float alpha = op.attribute("alpha", 1.702f);
  return {map([&](Scalar x) { return x * sigmoid(alpha * x); }, op.input(0))};
}

// The activation that a node does after its own work; parameters in the order of the ONNX operator's attributes.
Value activated(const Value& x, const std::string& name, const std::vector<float>& given) {
  const auto parameter = [&](size_t i, float otherwise) { return i < given.size() ? given[i] : otherwise; };
  const float a = parameter(0, 0), b = parameter(1, 0);
  if (name.empty()) return x;
  if (name == "Relu") return map([](Scalar e) { return relu(e); }, x);
  if (name == "Tanh") return map([](Scalar e) { return tanh(e); }, x);
  if (name == "Sigmoid") return map([](Scalar e) { return sigmoid(e); }, x);
  if (name == "LeakyRelu") {
    const float slope = parameter(0, 0.01f);
    return map([&](Scalar e) { return select(e < 0, slope * e, e); }, x);
  }
  if (name == "Elu") {
    const float alpha = parameter(0, 1);
    return map([&](Scalar e) { return select(e < 0, alpha * Scalar::make(ScalarOp::expm1, {e}), e); }, x);
  }
  const auto clip = [](const Scalar& e, double low, double high) {
    return select(e < low, low, select(e > high, high, e));
  };
  if (name == "Clip" && given.size() == 2) return map([&](Scalar e) { return clip(e, a, b); }, x);
  if (name == "HardSigmoid") {
    const float slope = parameter(0, 0.2f), offset = parameter(1, 0.5f);
    return map([&](Scalar e) { return clip(slope * e + offset, 0, 1); }, x);
  }
  throw Error(ErrorKind::unsupported, "activation '{}' with {} parameters", name, given.size());
}

// ---- products

// FusedConv: Conv, plus input 3, then an activation
Values fused_conv(OpContext& op) {
  const std::string activation = op.attribute("activation", "");
  const std::vector<float> parameters = op.float_list("activation_params");
  Value y = as_default(op, "Conv").at(0);
  if (op.has_input(3)) y = y + op.input(3);
  return {activated(y, activation, parameters)};
}

// FusedGemm: Gemm, then an activation
Values fused_gemm(OpContext& op) {
  const std::string activation = op.attribute("activation", "");
  std::vector<float> parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (op.has_attribute(name)) parameters.push_back(op.attribute(name, 0.0f));
  return {activated(as_default(op, "Gemm").at(0), activation, parameters)};
}

// [rows, batch..., columns] as [batch..., rows, columns]
Value with_first_axis_as_rows(const Value& x) {
  std::vector<int> permutation;
  for (int i = 1; i + 1 < x.rank(); ++i) permutation.push_back(i);
  permutation.insert(permutation.end(), {0, x.rank() - 1});
  return transpose(x, permutation);
}

// FusedMatMul, TransposeMatMul: alpha op(A) op(B)
Values fused_matmul(OpContext& op) {
  Value a = op.input(0), b = op.input(1);
  const double alpha = op.attribute("alpha", 1.0f);
  const bool transpose_a = op.attribute("transA", 0) != 0, transpose_b = op.attribute("transB", 0) != 0;
  const bool batch_a = op.attribute("transBatchA", 0) != 0, batch_b = op.attribute("transBatchB", 0) != 0;
  const bool is_plain = !transpose_a && !transpose_b && !batch_a && !batch_b;
  Value y;
  if (is_plain) {
    y = as_default(op, "MatMul").at(0);
  } else {
    require(a.rank() >= 2 && b.rank() >= 2, "operands have shapes {} and {}, expected matrices", to_string(a.shape()),
            to_string(b.shape()));
    if (batch_a) a = with_first_axis_as_rows(a);
    if (batch_b) b = with_first_axis_as_rows(b);
    y = matmul(a, b, transpose_a, transpose_b);
  }
  return {alpha == 1 ? y : y * alpha};
}

// ---- normalisation

// SkipLayerNormalization and its simplified form: the sum of input, skip and bias, normalised along the last axis
Value skip_sum(OpContext& op, int bias) {
  const Value x = op.input(0), sum = x + op.input(1);
  require(sum.shape() == x.shape(), "the skip of shape {} does not broadcast to the input of shape {}",
          to_string(op.input(1).shape()), to_string(x.shape()));
  return op.has_input(bias) ? sum + op.input(bias) : sum;
}
Values skip_layer_normalization(OpContext& op) {
  const Value sum = skip_sum(op, 4);
  const Standardised s = standardised(sum, {sum.rank() - 1}, op.attribute("epsilon", 1e-12f));
  return {scaled(s.y, op.input(2), op.optional_input(3)), s.mean, s.inverse_deviation, sum};
}
Values skip_simplified_layer_normalization(OpContext& op) {
  const Value sum = skip_sum(op, 3);
  const Standardised s = root_mean_square_normalised(sum, {sum.rank() - 1}, op.attribute("epsilon", 1e-12f));
  return {s.y * op.input(2), Value(), s.inverse_deviation, sum};
}

// Positions of each token; without any, 0, 1, 2, ...
Value position_rows(OpContext& op, const Dim& tokens) {
  const Value table = op.input(3);
  return op.has_input(8) ? gather(table, op.input(8), 0) : slice(table, 0, 0, tokens);
}

// EmbedLayerNormalization: word, position and segment embeddings, normalised; the number of tokens that count
Values embed_layer_normalization(OpContext& op) {
  const Value ids = op.input(0);
  require(ids.rank() == 2, "the ids have shape {}, expected batch and positions", to_string(ids.shape()));
  require(op.input(3).rank() == 2, "the position embedding has shape {}", to_string(op.input(3).shape()));
  Value sum = gather(op.input(2), ids, 0) + position_rows(op, ids.shape()[1]);
  require(op.has_input(1) == op.has_input(4), "segment ids without a segment embedding, or the other way round");
  if (op.has_input(1)) sum = sum + gather(op.input(4), op.input(1), 0);
  const Standardised s = standardised(sum, {2}, op.attribute("epsilon", 1e-12f));
  op.ignore_attribute("mask_index_type");
  const Value count = op.has_input(7) ? reduce(Reduction::sum, op.input(7), {1}, Keep::no)
                                      : expand(op.builder().scalar(0, DataType::i32), {ids.shape()[0]});
  return {scaled(s.y, op.input(5), op.input(6)), count, sum};
}

}  // namespace

void register_microsoft(Translator& t);
void register_microsoft(Translator& t) {
  const std::string domain = "com.microsoft";
  for (const char* name : {"Gelu", "LayerNormalization", "SimplifiedLayerNormalization"})
    t.add(name, {1}, default_operator(name), domain);
  t.add("BiasGelu", {1}, bias_gelu, domain);
  t.add("FastGelu", {1}, fast_gelu, domain);
  t.add("QuickGelu", {1}, quick_gelu, domain);
  t.add("FusedConv", {1}, fused_conv, domain);
  t.add("FusedGemm", {1}, fused_gemm, domain);
  t.add("FusedMatMul", {1}, fused_matmul, domain);
  t.add("TransposeMatMul", {1}, fused_matmul, domain);
  t.add("SkipLayerNormalization", {1}, skip_layer_normalization, domain);
  t.add("SkipSimplifiedLayerNormalization", {1}, skip_simplified_layer_normalization, domain);
  t.add("EmbedLayerNormalization", {1}, embed_layer_normalization, domain);
}

}  // namespace arbalest
