// Elements addressed one by one, in terms of Gather and Scatter along a flattened axis.
//
// The sizes of an index tensor may be symbols; every index is checked while running.
#pragma once

#include "graph/builder.h"

namespace arbalest {

Value iota(Builder& builder, const Dim& count);  // int64 0, 1, ..., count - 1
// The same along one axis of a tensor of the given rank whose other axes have size 1.
Value position_numbers(Builder& builder, const Dim& count, int axis, int rank);

// Row-major positions, in a tensor of shape `data`, of the elements whose coordinate along `axis` the indices give and
// whose other coordinates are those of the index itself (ONNX GatherElements). No other axis of the indices may be
// longer than the data's.
Value element_positions(const Value& indices, const Shape& data, int axis);

Value gather_elements(const Value& data, const Value& indices, int axis);
// Onto data; or onto zeros of a shape.
Value scatter_elements(ScatterReduction kind, const Value& data, int axis, const Value& indices, const Value& updates);
Value scatter_elements(ScatterReduction kind, const Shape& shape, int axis, const Value& indices, const Value& updates);

}  // namespace arbalest
