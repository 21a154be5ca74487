#include "onnx_import/tensor_roles.h"

#include <algorithm>
#include <iterator>

namespace arbalest {
namespace {

constexpr Role kRoles[] = {
    {"Conv", 1, TensorUse::weight, Effect::trains, "weight"},
    {"Conv", 2, TensorUse::bias, Effect::trains, "bias"},
    {"ConvTranspose", 1, TensorUse::weight, Effect::trains, "weight"},
    {"ConvTranspose", 2, TensorUse::bias, Effect::trains, "bias"},
    {"Gemm", 0, TensorUse::weight, Effect::trains, "weight"},
    {"Gemm", 1, TensorUse::weight, Effect::trains, "weight"},
    {"Gemm", 2, TensorUse::bias, Effect::trains, "bias"},
    {"MatMul", 0, TensorUse::weight, Effect::trains, "weight"},
    {"MatMul", 1, TensorUse::weight, Effect::trains, "weight"},
    {"PRelu", 1, TensorUse::weight, Effect::trains, "slope"},
    {"Gather", 0, TensorUse::embedding, Effect::trains, "embedding"},
    {"BatchNormalization", 1, TensorUse::norm_scale, Effect::trains, "scale"},
    {"BatchNormalization", 2, TensorUse::norm_bias, Effect::trains, "bias"},
    {"BatchNormalization", 3, TensorUse::running_statistic, Effect::fixed, "running mean"},
    {"BatchNormalization", 4, TensorUse::running_statistic, Effect::fixed, "running variance"},
    {"InstanceNormalization", 1, TensorUse::norm_scale, Effect::trains, "scale"},
    {"InstanceNormalization", 2, TensorUse::norm_bias, Effect::trains, "bias"},
    {"LayerNormalization", 1, TensorUse::norm_scale, Effect::trains, "scale"},
    {"LayerNormalization", 2, TensorUse::norm_bias, Effect::trains, "bias"},
    {"GroupNormalization", 1, TensorUse::norm_scale, Effect::trains, "scale"},
    {"GroupNormalization", 2, TensorUse::norm_bias, Effect::trains, "bias"},
    {"RMSNormalization", 1, TensorUse::norm_scale, Effect::trains, "scale"},
    {"SimplifiedLayerNormalization", 1, TensorUse::norm_scale, Effect::trains, "scale"},
    {"SkipLayerNormalization", 2, TensorUse::norm_scale, Effect::trains, "scale"},
    {"SkipLayerNormalization", 3, TensorUse::norm_bias, Effect::trains, "bias"},
    {"SkipLayerNormalization", 4, TensorUse::bias, Effect::trains, "bias of the sum"},
    {"SkipSimplifiedLayerNormalization", 2, TensorUse::norm_scale, Effect::trains, "scale"},
    {"SkipSimplifiedLayerNormalization", 3, TensorUse::bias, Effect::trains, "bias of the sum"},
    {"EmbedLayerNormalization", 2, TensorUse::embedding, Effect::trains, "word embedding"},
    {"EmbedLayerNormalization", 3, TensorUse::embedding, Effect::trains, "position embedding"},
    {"EmbedLayerNormalization", 4, TensorUse::embedding, Effect::trains, "segment embedding"},
    {"EmbedLayerNormalization", 5, TensorUse::norm_scale, Effect::trains, "scale"},
    {"EmbedLayerNormalization", 6, TensorUse::norm_bias, Effect::trains, "bias"},
    {"BiasGelu", 1, TensorUse::bias, Effect::trains, "bias"},
    {"FastGelu", 1, TensorUse::bias, Effect::trains, "bias"},
    {"FusedConv", 1, TensorUse::weight, Effect::trains, "weight"},
    {"FusedConv", 2, TensorUse::bias, Effect::trains, "bias"},
    {"FusedGemm", 0, TensorUse::weight, Effect::trains, "weight"},
    {"FusedGemm", 1, TensorUse::weight, Effect::trains, "weight"},
    {"FusedGemm", 2, TensorUse::bias, Effect::trains, "bias"},
    {"FusedMatMul", 0, TensorUse::weight, Effect::trains, "weight"},
    {"FusedMatMul", 1, TensorUse::weight, Effect::trains, "weight"},
    {"MultiHeadAttention", 3, TensorUse::bias, Effect::trains, "bias of the projections"},
    {"DeformConv", 1, TensorUse::weight, Effect::trains, "weight"},
    {"DeformConv", 3, TensorUse::bias, Effect::trains, "bias"},
    {"CausalConvWithState", 1, TensorUse::weight, Effect::trains, "weight"},
    {"CausalConvWithState", 2, TensorUse::bias, Effect::trains, "bias"},
    {"RoiAlign", 1, TensorUse::other, Effect::no_path, "regions"},
    {"LSTM", 1, TensorUse::weight, Effect::trains, "weight"},
    {"LSTM", 2, TensorUse::weight, Effect::trains, "recurrent weight"},
    {"LSTM", 3, TensorUse::bias, Effect::trains, "bias"},
    {"LSTM", 5, TensorUse::other, Effect::fixed, "initial state"},
    {"LSTM", 6, TensorUse::other, Effect::fixed, "initial cell state"},
    {"LSTM", 7, TensorUse::weight, Effect::trains, "peephole weight"},
    {"GRU", 1, TensorUse::weight, Effect::trains, "weight"},
    {"GRU", 2, TensorUse::weight, Effect::trains, "recurrent weight"},
    {"GRU", 3, TensorUse::bias, Effect::trains, "bias"},
    {"GRU", 5, TensorUse::other, Effect::fixed, "initial state"},
    {"RNN", 1, TensorUse::weight, Effect::trains, "weight"},
    {"RNN", 2, TensorUse::weight, Effect::trains, "recurrent weight"},
    {"RNN", 3, TensorUse::bias, Effect::trains, "bias"},
    {"RNN", 5, TensorUse::other, Effect::fixed, "initial state"},
    {"Clip", 1, TensorUse::bound, Effect::fixed, "lower bound"},
    {"Clip", 2, TensorUse::bound, Effect::fixed, "upper bound"},
    {"Pad", 2, TensorUse::bound, Effect::fixed, "padding value"},
    {"Dropout", 1, TensorUse::bound, Effect::fixed, "ratio"},
    {"Resize", 1, TensorUse::shape, Effect::fixed, "region"},
    {"Resize", 2, TensorUse::shape, Effect::fixed, "scales"},
    {"Upsample", 1, TensorUse::shape, Effect::fixed, "scales"},
    {"Range", 0, TensorUse::bound, Effect::fixed, "start"},
    {"Range", 1, TensorUse::bound, Effect::fixed, "limit"},
    {"Range", 2, TensorUse::bound, Effect::fixed, "step"},
    {"OneHot", 2, TensorUse::bound, Effect::fixed, "off and on values"},
    {"QuantizeLinear", 1, TensorUse::quantisation, Effect::fixed, "scale"},
    {"DequantizeLinear", 1, TensorUse::quantisation, Effect::fixed, "scale"},
    {"RotaryEmbedding", 1, TensorUse::other, Effect::fixed, "cosines"},
    {"RotaryEmbedding", 2, TensorUse::other, Effect::fixed, "sines"},
    {"RotaryEmbedding", 3, TensorUse::other, Effect::fixed, "sines"},
    {"SoftmaxCrossEntropyLoss", 2, TensorUse::other, Effect::fixed, "class weights"},
    {"NegativeLogLikelihoodLoss", 2, TensorUse::other, Effect::fixed, "class weights"},
    {"Shape", 0, TensorUse::shape, Effect::no_path, "shape"},
    {"Size", 0, TensorUse::shape, Effect::no_path, "size"},
    {"Equal", 0, TensorUse::other, Effect::no_path, "compared value"},
    {"Equal", 1, TensorUse::other, Effect::no_path, "compared value"},
    {"Greater", 0, TensorUse::other, Effect::no_path, "compared value"},
    {"Greater", 1, TensorUse::other, Effect::no_path, "compared value"},
    {"GreaterOrEqual", 0, TensorUse::other, Effect::no_path, "compared value"},
    {"GreaterOrEqual", 1, TensorUse::other, Effect::no_path, "compared value"},
    {"Less", 0, TensorUse::other, Effect::no_path, "compared value"},
    {"Less", 1, TensorUse::other, Effect::no_path, "compared value"},
    {"LessOrEqual", 0, TensorUse::other, Effect::no_path, "compared value"},
    {"LessOrEqual", 1, TensorUse::other, Effect::no_path, "compared value"},
    {"CastLike", 1, TensorUse::other, Effect::no_path, "element type"},
    {"EyeLike", 0, TensorUse::shape, Effect::no_path, "shape"},
    {"ArgMax", 0, TensorUse::other, Effect::no_path, "input"},
    {"ArgMin", 0, TensorUse::other, Effect::no_path, "input"},
    {"NonZero", 0, TensorUse::other, Effect::no_path, "input"},
    {"Unique", 0, TensorUse::other, Effect::fixed, "input"},
    {"NonMaxSuppression", 0, TensorUse::other, Effect::no_path, "boxes"},
    {"NonMaxSuppression", 1, TensorUse::other, Effect::no_path, "scores"},
    {"NonMaxSuppression", 3, TensorUse::bound, Effect::fixed, "overlap"},
    {"NonMaxSuppression", 4, TensorUse::bound, Effect::fixed, "least score"},
};

const Role* listed(const onnx::NodeProto& node, int input) {
  const auto found = std::find_if(std::begin(kRoles), std::end(kRoles),
                                  [&](const Role& role) { return role.input == input && role.op == node.op_type(); });
  return found == std::end(kRoles) ? nullptr : found;
}

}  // namespace

Role role_of(const onnx::NodeProto& node, int input) {
  if (node.op_type() == "Loop" || node.op_type() == "Scan")
    return {node.op_type(), input, TensorUse::other, Effect::no_path, "initial state"};
  if (const Role* role = listed(node, input)) return *role;
  const bool is_sum = node.op_type() == "Add" || node.op_type() == "Sum";
  return {node.op_type(), input, is_sum ? TensorUse::bias : TensorUse::other, Effect::trains,
          is_sum ? "bias" : "weight"};
}

bool is_weight_of_layer(const onnx::NodeProto& node, int input) {
  const Role* role = listed(node, input);
  return role && role->effect == Effect::trains;
}

}  // namespace arbalest
