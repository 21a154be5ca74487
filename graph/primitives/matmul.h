// MatMul: y = op(a) op(b) + bias, where op transposes the last two axes if asked.
// a [..., m, k], b [..., k, n] (before op: [..., k, m], [..., n, k]), rank >= 2 both; leading axes broadcast; bias [n].
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

struct MatMul {
  static constexpr const char* kName = "MatMul";
  bool transpose_a = false;
  bool transpose_b = false;
  bool bias = false;  // a third input

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("transpose_a", p.transpose_a), v("transpose_b", p.transpose_b), v("bias", p.bias);
  }
};

std::vector<TensorType> infer(const MatMul& p, Types in);
Values gradient(const MatMul& p, GradientContext& g);

}  // namespace arbalest
