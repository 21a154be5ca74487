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

  template <class V>
  void fields(V&& v) const {
    v("size", size), v("alpha", alpha), v("beta", beta), v("bias", bias);
  }
};

struct LrnBackward {
  static constexpr const char* kName = "LrnBackward";
  int64_t size = 1;
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1.0f;

  template <class V>
  void fields(V&& v) const {
    v("size", size), v("alpha", alpha), v("beta", beta), v("bias", bias);
  }
};

std::vector<TensorType> infer(const Lrn& p, Types in);
std::vector<TensorType> infer(const LrnBackward& p, Types in);
Values gradient(const Lrn& p, GradientContext& g);

}  // namespace arbalest
