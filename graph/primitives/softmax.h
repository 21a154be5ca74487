// Softmax: y = exp(x - max) / sum along one axis, or its logarithm. Gradient: dx = y (dy - sum(dy y)); for the
// logarithm dx = dy - exp(y) sum(dy). SoftmaxBackward: y, dy -> dx.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

struct Softmax {
  static constexpr const char* kName = "Softmax";
  int axis = -1;  // in [0, rank)
  bool log = false;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("axis", p.axis), v("log", p.log);
  }
};

struct SoftmaxBackward {
  static constexpr const char* kName = "SoftmaxBackward";
  int axis = -1;
  bool log = false;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("axis", p.axis), v("log", p.log);
  }
};

std::vector<TensorType> infer(const Softmax& p, Types in);
std::vector<TensorType> infer(const SoftmaxBackward& p, Types in);
Values gradient(const Softmax& p, GradientContext& g);

}  // namespace arbalest
