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

  template <class V>
  void fields(V&& v) const {
    v("shape", shape), v("dtype", dtype), v("stream", stream);
  }
};

std::vector<TensorType> infer(const RandomUniform& p, Types in);

}  // namespace arbalest
