// What Gather, Scatter and LinearIndex share: tensors of indices that come from the data.
#pragma once

#include "exec/cpu/kernels/axis_view.h"
#include "exec/prepare.h"

namespace arbalest::cpu {

// Rows of a tensor along an axis, of which `count` indices choose.
struct Rows : AxisView {
  int64_t count;

  Rows(const Dims& data, int axis, int64_t count) : AxisView(data, axis), count(count) {}
};

// Index k, counted from the beginning of an axis of `size`; model error when out of range.
template <class Index>
int64_t position(const Index* indices, int64_t k, int64_t size) {
  const int64_t index = indices[k];
  const int64_t wrapped = index < 0 ? index + size : index;
  require(0 <= wrapped && wrapped < size, "index {} at position {}: out of range for an axis of size {}", index, k,
          size);
  return wrapped;
}

// Calls f with an int32_t or an int64_t as tag.
template <class F>
auto for_index_type(DataType type, F&& f) {
  ensure(type == DataType::i32 || type == DataType::i64, "indices of type {}", name_of(type));
  return type == DataType::i32 ? f(int32_t{}) : f(int64_t{});
}

inline void require_all_row_major(PrepareContext& c) {
  for (int i = 0; i < c.input_count(); ++i) {
    if (!c.input_layout(i).is_row_major()) c.require_row_major(i);
  }
}

}  // namespace arbalest::cpu
