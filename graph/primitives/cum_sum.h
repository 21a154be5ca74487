// CumSum: running sums along an axis: element i is the sum of the elements up to i, without i itself if `exclusive`;
// from the end if `reverse`. Any numbers; integers wrap around.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

struct CumSum {
  static constexpr const char* kName = "CumSum";
  int axis = 0;
  bool exclusive = false;
  bool reverse = false;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("axis", p.axis), v("exclusive", p.exclusive), v("reverse", p.reverse);
  }
};

std::vector<TensorType> infer(const CumSum& p, Types in);
Values gradient(const CumSum& p, GradientContext& g);

}  // namespace arbalest
