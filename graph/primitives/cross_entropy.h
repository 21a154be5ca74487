// CrossEntropy: softmax and negative log likelihood of class indices in one (ONNX SoftmaxCrossEntropyLoss-13).
//
// logits [..., C at axis, ...], labels int64 or int32 (shape of logits without the axis), class weights [C] if
// `weights` -> loss, probabilities (shape of logits). Loss is a scalar for sum and mean, else of the labels' shape. The
// mean divides by the sum of the weights of the labels that count. Labels equal to ignore_index count for nothing; if
// none counts, the loss is NaN. A label outside [0, C) that is not ignored gives a NaN loss: data are checked before
// training. CrossEntropyBackward: probabilities, labels, dloss, class weights -> dlogits. Neither the class weights nor
// the probabilities have a gradient.
#pragma once

#include <optional>

#include "graph/primitives/common.h"

namespace arbalest {

enum class LossReduction : uint8_t { none, sum, mean };

struct CrossEntropy {
  static constexpr const char* kName = "CrossEntropy";
  int axis = 1;  // of the classes, in [0, rank)
  LossReduction reduction = LossReduction::mean;
  std::optional<int64_t> ignore_index;
  bool weights = false;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("axis", p.axis), v("reduction", p.reduction), v("ignore_index", p.ignore_index), v("weights", p.weights);
  }
};

struct CrossEntropyBackward {
  static constexpr const char* kName = "CrossEntropyBackward";
  int axis = 1;
  LossReduction reduction = LossReduction::mean;
  std::optional<int64_t> ignore_index;
  bool weights = false;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("axis", p.axis), v("reduction", p.reduction), v("ignore_index", p.ignore_index), v("weights", p.weights);
  }
};

std::vector<TensorType> infer(const CrossEntropy& p, Types in);
std::vector<TensorType> infer(const CrossEntropyBackward& p, Types in);
Values gradient(const CrossEntropy& p, GradientContext& g);

}  // namespace arbalest
