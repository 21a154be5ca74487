// Losses that are part of the model.
#include "graph/base/error.h"
#include "graph/element_index.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

LossReduction reduction_attribute(OpContext& op) {
  const std::string name = op.attribute("reduction", "mean");
  if (name == "none") return LossReduction::none;
  if (name == "sum") return LossReduction::sum;
  require(name == "mean", "attribute 'reduction' is '{}', expected 'none', 'sum' or 'mean'", name);
  return LossReduction::mean;
}

std::optional<int64_t> ignore_index_attribute(OpContext& op) {
  if (!op.has_attribute("ignore_index")) return std::nullopt;
  return op.attribute("ignore_index", int64_t{0});
}

// SoftmaxCrossEntropyLoss-12, 13: the loss and, as a second output, the logarithm of the probabilities
Values softmax_cross_entropy_loss(OpContext& op) {
  const Value scores = op.input(0), labels = op.input(1), weights = op.optional_input(2);
  const CrossEntropy p{1, reduction_attribute(op), ignore_index_attribute(op), static_cast<bool>(weights)};
  Values inputs{scores, labels};
  if (weights) inputs.push_back(weights);
  Values outputs{op.builder().emit(p, inputs).front()};
  if (op.output_used(1)) outputs.push_back(op.builder().emit_one(Softmax{1, true}, {scores}));
  return outputs;
}

// NegativeLogLikelihoodLoss-12, 13, 22: the entry of the label's class is found by comparing all class numbers with it.
Values negative_log_likelihood_loss(OpContext& op) {
  const Value x = op.input(0), labels = op.input(1), weights = op.optional_input(2);
  const LossReduction reduction = reduction_attribute(op);
  const std::optional<int64_t> ignored = ignore_index_attribute(op);
  require(x.rank() >= 2 && labels.rank() == x.rank() - 1, "the input has shape {}, the labels {}", to_string(x.shape()),
          to_string(labels.shape()));
  Shape with_class_axis = labels.shape();
  with_class_axis.insert(with_class_axis.begin() + 1, Dim(1));
  const Value label = reshape(cast(labels, DataType::i64), with_class_axis);
  const Value number = position_numbers(op.builder(), x.shape()[1], 0, x.rank() - 1);
  const auto is_chosen = [&](Scalar l, Scalar n) {
    const Scalar chosen = equal(l, n);
    return ignored ? chosen && !equal(l, Scalar::constant(*ignored, DataType::i64)) : chosen;
  };
  const Value weight = weights ? reshape(weights, {x.shape()[1], Dim(1)}) : op.builder().scalar(1, x.dtype());
  Shape weight_shape(static_cast<size_t>(x.rank()) - 1, Dim(1));
  weight_shape[0] = weights ? x.shape()[1] : Dim(1);
  const Value w = reshape(weight, weight_shape);
  const Value kept =
      map([&](Scalar l, Scalar n, Scalar v) { return select(is_chosen(l, n), v, 0.0); }, label, number, w);
  const Value losses =
      map([&](Scalar l, Scalar n, Scalar v, Scalar p) { return select(is_chosen(l, n), -(v * p), 0.0); }, label, number,
          w, x);
  const Value loss = reduce(Reduction::sum, losses, {1}, Keep::no);
  if (reduction == LossReduction::none) return {loss};
  std::vector<int> axes;
  for (int i = 0; i < loss.rank(); ++i) axes.push_back(i);
  const Value total = reduce(Reduction::sum, loss, axes, Keep::no);
  if (reduction == LossReduction::sum) return {total};
  return {total / reduce(Reduction::sum, reduce(Reduction::sum, kept, {1}, Keep::no), axes, Keep::no)};
}

}  // namespace

void register_loss(Translator& t);
void register_loss(Translator& t) {
  t.add("SoftmaxCrossEntropyLoss", {12, 13}, softmax_cross_entropy_loss);
  t.add("NegativeLogLikelihoodLoss", {12, 13, 22}, negative_log_likelihood_loss);
}

}  // namespace arbalest
