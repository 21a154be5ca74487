// Gather: y = data[..., indices, ...] along an axis; indices int32 or int64 of any shape replace the axis; negative
// ones count from the end. An index out of range is an error while running (data are not trusted).
// LinearIndex: the row-major position, int64, of the element of a tensor of sizes `dims` whose coordinates are in the
// last axis of the input (of that many elements), int32 or int64; negative ones count from the end. Each coordinate is
// checked while running, so that none ends in another row. With it a Gather or Scatter along the flattened axes serves
// every operator that addresses several axes.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

struct Gather {
  static constexpr const char* kName = "Gather";
  int axis = 0;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("axis", p.axis);
  }
};

struct LinearIndex {
  static constexpr const char* kName = "LinearIndex";
  Shape dims = {};

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("dims", p.dims);
  }
};

std::vector<TensorType> infer(const Gather& p, Types in);
std::vector<TensorType> infer(const LinearIndex& p, Types in);
Values gradient(const Gather& p, GradientContext& g);

}  // namespace arbalest
