// The sliding window of a convolution or pooling node, from its attributes.
#pragma once

#include "graph/primitives/common.h"
#include "onnx_import/op_context.h"

namespace arbalest {

// `spatial` are the input's sizes after batch and channels, `kernel` those of the window. Reads the attributes strides,
// dilations, pads and auto_pad; model error where they do not fit. auto_pad SAME_* needs known sizes unless the stride
// is 1.
Window window_of(OpContext& op, const Shape& spatial, const Dims& kernel);

// Sizes after batch and channels; model error for a rank below 3.
Shape spatial_sizes(const Value& x);

// kernel_shape; `otherwise` where it is absent and one is given, else a model error.
Dims kernel_shape(OpContext& op, int rank, const Dims& otherwise = {});

}  // namespace arbalest
