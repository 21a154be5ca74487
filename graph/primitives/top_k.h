// TopK: the k greatest (or least) elements along an axis, the best first, and their int64 indices. Of equal values the
// one with the lower index comes first; NaN is greater than every number, as NumPy and PyTorch sort. Output 1 carries
// no gradient.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

struct TopK {
  static constexpr const char* kName = "TopK";
  int axis = 0;
  Dim k = 0;
  bool largest = true;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("axis", p.axis), v("k", p.k), v("largest", p.largest);
  }
};

std::vector<TensorType> infer(const TopK& p, Types in);
Values gradient(const TopK& p, GradientContext& g);

}  // namespace arbalest
