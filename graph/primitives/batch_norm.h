// Batch normalisation with the statistics of the batch (Ioffe and Szegedy 2015, Algorithm 1).
//
// BatchNorm: x [N, C, ...], scale [C], bias [C] -> y, mean [C], variance [C] (population variance, divided by the
// count). BatchNormBackward: x, dy, mean, variance, scale -> dx, dscale, dbias; the gradient passes through mean and
// variance. With running statistics the operator is a Map. The outputs mean and variance carry no gradient of their
// own.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

struct BatchNorm {
  static constexpr const char* kName = "BatchNorm";
  float epsilon = 1e-5f;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("epsilon", p.epsilon);
  }
};

struct BatchNormBackward {
  static constexpr const char* kName = "BatchNormBackward";
  float epsilon = 1e-5f;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("epsilon", p.epsilon);
  }
};

std::vector<TensorType> infer(const BatchNorm& p, Types in);
std::vector<TensorType> infer(const BatchNormBackward& p, Types in);
Values gradient(const BatchNorm& p, GradientContext& g);

}  // namespace arbalest
