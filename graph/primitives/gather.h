// Gather: y = data[..., indices, ...] along an axis; indices int32 or int64 of any shape replace the axis; negative
// ones count from the end. An index out of range is an error while running (data are not trusted). GatherBackward: dy,
// indices -> ddata: contributions of repeated indices add up, in the order of the indices.
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

struct GatherBackward {
  static constexpr const char* kName = "GatherBackward";
  int axis = 0;
  Dim size;  // of the axis in ddata

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("axis", p.axis), v("size", p.size);
  }
};

std::vector<TensorType> infer(const Gather& p, Types in);
std::vector<TensorType> infer(const GatherBackward& p, Types in);
Values gradient(const Gather& p, GradientContext& g);
Values gradient(const GatherBackward& p, GradientContext& g);

}  // namespace arbalest
