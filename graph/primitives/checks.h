// Checks that type rules share. Each throws a model error that states got and expected; the caller's caller knows the
// node and adds it in front.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

// Internal error: the importer and the rules give each primitive as many inputs as it takes.
void expect_inputs(Types in, size_t count, const char* primitive);
void expect_float(const TensorType& type, const char* what);
void expect_dtype(const TensorType& type, DataType dtype, const char* what);
void expect_index(const TensorType& type, const char* what);  // int32 or int64
void expect_rank(const TensorType& type, int rank, const char* what);
void expect_axis(int axis, int rank);
// Same rank, and sizes that can be the same.
void expect_shape(const Shape& got, const Shape& expected, const char* what);
// A window of `rank` axes: positive strides and dilations, pads >= 0.
void expect_window(const Window& w, int rank);

// Whether two sizes can be the same: equal, or one of them depends on symbols (bind() decides then).
bool may_equal(const Dim& a, const Dim& b);
// Of two sizes that may be equal, the one that says more.
const Dim& more_known(const Dim& a, const Dim& b);
// Sizes behind batch and channels.
Shape spatial_of(const Shape& shape);

}  // namespace arbalest
