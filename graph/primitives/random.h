// RandomUniform: float in [0, 1) from a counter: a function of (seed, learner, step, stream, element) and of nothing
// else.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

struct RandomUniform {
  static constexpr const char* kName = "RandomUniform";
  Shape shape;
  DataType dtype = DataType::f32;
  int64_t stream = 0;  // differs from node to node

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("shape", p.shape), v("dtype", p.dtype), v("stream", p.stream);
  }
};

std::vector<TensorType> infer(const RandomUniform& p, Types in);

}  // namespace arbalest
