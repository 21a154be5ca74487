// A row-major tensor seen as [outer, axis, inner], for kernels that work along one axis.
#pragma once

#include "graph/base/error.h"
#include "graph/types.h"

namespace arbalest::cpu {

struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;

  AxisView(const Dims& dims, int axis) : size(dims.at(axis)) {
    for (int i = 0; i < static_cast<int>(dims.size()); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : dims[i];
  }
};

// Calls f with a float or a double as tag; kernels that compute exist in these two.
template <class F>
auto for_float_type(DataType type, F&& f) {
  ensure(type == DataType::f32 || type == DataType::f64, "a kernel for float32 and float64 got {}", name_of(type));
  return type == DataType::f32 ? f(float{}) : f(double{});
}

}  // namespace arbalest::cpu
