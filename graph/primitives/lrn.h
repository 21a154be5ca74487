// Lrn: local response normalisation across channels (ONNX LRN): y = x / (bias + alpha/size sum x^2)^beta over the
// `size` channels around each. LrnBackward: x, dy -> dx.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

struct Lrn {
  static constexpr const char* kName = "Lrn";
  int64_t size = 1;
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1.0f;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("size", p.size), v("alpha", p.alpha), v("beta", p.beta), v("bias", p.bias);
  }
};

struct LrnBackward {
  static constexpr const char* kName = "LrnBackward";
  int64_t size = 1;
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1.0f;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("size", p.size), v("alpha", p.alpha), v("beta", p.beta), v("bias", p.bias);
  }
};

std::vector<TensorType> infer(const Lrn& p, Types in);
std::vector<TensorType> infer(const LrnBackward& p, Types in);
Values gradient(const Lrn& p, GradientContext& g);

}  // namespace arbalest
