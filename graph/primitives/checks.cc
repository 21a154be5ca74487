#include "graph/primitives/checks.h"

#include <algorithm>

namespace arbalest {

void expect_inputs(Types in, size_t count, const char* primitive) {
  ensure(in.size() == count, "{} takes {} inputs, got {}", primitive, count, in.size());
}

void expect_float(const TensorType& type, const char* what) {
  require(is_float(type.dtype), "{} is {}, expected a float tensor", what, to_string(type));
}

void expect_dtype(const TensorType& type, DataType dtype, const char* what) {
  require(type.dtype == dtype, "{} is {}, expected elements of {}", what, to_string(type), name_of(dtype));
}

void expect_index(const TensorType& type, const char* what) {
  require(type.dtype == DataType::i32 || type.dtype == DataType::i64, "{} is {}, expected int32 or int64", what,
          to_string(type));
}

void expect_rank(const TensorType& type, int rank, const char* what) {
  require(type.rank() == rank, "{} has rank {} ({}), expected rank {}", what, type.rank(), to_string(type.shape), rank);
}

void expect_axis(int axis, int rank) { require(0 <= axis && axis < rank, "axis {} of a rank-{} input", axis, rank); }

void expect_shape(const Shape& got, const Shape& expected, const char* what) {
  require(got.size() == expected.size() && std::equal(got.begin(), got.end(), expected.begin(), may_equal),
          "{} has shape {}, expected {}", what, to_string(got), to_string(expected));
}

void expect_window(const Window& w, int rank) {
  const auto check = [rank](const Dims& list, int64_t least, const char* what) {
    require(list.size() == static_cast<size_t>(rank), "{} has {} entries, expected {}, one for each spatial axis", what,
            list.size(), rank);
    for (const int64_t e : list) {
      require(least <= e && e <= INT32_MAX, "{} contains {}, expected at least {} and at most {}", what, e, least,
              INT32_MAX);
    }
  };
  check(w.strides, 1, "strides");
  check(w.dilations, 1, "dilations");
  check(w.pads_begin, 0, "pads (begin)");
  check(w.pads_end, 0, "pads (end)");
}

bool may_equal(const Dim& a, const Dim& b) { return a == b || !a.is_constant() || !b.is_constant(); }

const Dim& more_known(const Dim& a, const Dim& b) { return a.is_constant() ? a : b; }

Shape spatial_of(const Shape& shape) {
  Shape result;
  result.assign(shape.begin() + 2, shape.end());
  return result;
}

}  // namespace arbalest
