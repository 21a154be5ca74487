// Scatter: y = data, and then y[..., indices, ...] (op)= updates along an axis, in the order of the indices. Indices
// are int32 or int64 of any shape, negative ones count from the end; an index out of range is an error while running.
// The updates' shape is that of the data with the axis replaced by the indices' shape, as what Gather gives. With
// `onto_zeros` there is no data input: it would be zeros with `size` elements along the axis.
//
// Gradients are exact for repeated indices too: only the last of several settings counts, max and min share evenly
// among equal values, the product is exact with zeros. Of bool, add and max are or, mul and min are and.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

enum class ScatterReduction : uint8_t { set, add, mul, max, min };

struct Scatter {
  static constexpr const char* kName = "Scatter";
  int axis = 0;
  ScatterReduction kind = ScatterReduction::set;
  bool onto_zeros = false;
  Dim size = 0;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("axis", p.axis), v("kind", p.kind), v("onto_zeros", p.onto_zeros), v("size", p.size);
  }
};

std::vector<TensorType> infer(const Scatter& p, Types in);
Values gradient(const Scatter& p, GradientContext& g);

}  // namespace arbalest
