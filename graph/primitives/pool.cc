#include "graph/primitives/pool.h"

#include <algorithm>

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"

namespace arbalest {

namespace {

// With dilation a window may step over the whole input though it overlaps it; its result would be undefined.
void check_touches_input(const Window& w, int axis, int64_t input, int64_t kernel, int64_t outputs) {
  const auto i = static_cast<size_t>(axis);
  const int64_t dilation = w.dilations[i];
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t start = o * w.strides[i] - w.pads_begin[i];
    const int64_t first = start < 0 ? (-start + dilation - 1) / dilation : 0;  // first element that is not before
    require(first < kernel && start + first * dilation < input,
            "spatial axis {}: the window of output {} lies in the padding only", axis, o);
  }
}

template <class Pool>
Shape pooled(const Pool& p, const TensorType& in) {
  expect_float(in, "the input");
  require(3 <= in.rank() && in.rank() <= 5,
          "the input has rank {} ({}), expected 3 to 5: batch, channels, 1 to 3 spatial axes", in.rank(),
          to_string(in.shape));
  const int spatial = in.rank() - 2;
  require(p.kernel.rank() == spatial, "the kernel has {} axes, the input {} spatial ones ({})", p.kernel.rank(),
          spatial, to_string(in.shape));
  expect_window(p.window, spatial);
  Shape y{in.shape[0], in.shape[1]};
  for (int axis = 0; axis < spatial; ++axis) {
    const auto i = static_cast<size_t>(axis);
    const Dim &size = in.shape[i + 2], &kernel = p.kernel[i];
    y.push_back(window_output(p.window, axis, size, kernel, p.ceil_mode));
    if (!kernel.is_constant()) continue;
    require(kernel.value() >= 1, "spatial axis {}: the kernel is empty", axis);
    const int64_t pad = std::max(p.window.pads_begin[i], p.window.pads_end[i]);
    require(pad <= p.window.dilations[i] * (kernel.value() - 1),
            "spatial axis {}: pads {} of a kernel of {}, expected less than its extent", axis, pad, kernel.value());
    if (p.window.dilations[i] > 1 && size.is_constant()) {
      check_touches_input(p.window, axis, size.value(), kernel.value(), y.back().value());
    }
  }
  return y;
}

// The type of x given the type of dy and x's spatial sizes.
template <class PoolBackward>
TensorType unpooled(const PoolBackward& p, const TensorType& dy) {
  require(dy.rank() >= 2, "the output's gradient has rank {}", dy.rank());
  TensorType x{dy.dtype, {dy.shape[0], dy.shape[1]}};
  x.shape.insert(x.shape.end(), p.spatial.begin(), p.spatial.end());
  expect_shape(dy.shape, pooled(p, x), "the output's gradient");
  return x;
}

}  // namespace

std::vector<TensorType> infer(const MaxPool& p, Types in) {
  expect_inputs(in, 1, p.kName);
  const Shape y = pooled(p, in[0]);
  return {{in[0].dtype, y}, {DataType::i32, y}};
}

std::vector<TensorType> infer(const MaxPoolBackward& p, Types in) {
  expect_inputs(in, 2, p.kName);
  expect_dtype(in[1], DataType::i32, "the position");
  expect_shape(in[1].shape, in[0].shape, "the position");
  return {unpooled(p, in[0])};
}

std::vector<TensorType> infer(const AveragePool& p, Types in) {
  expect_inputs(in, 1, p.kName);
  return {{in[0].dtype, pooled(p, in[0])}};
}

std::vector<TensorType> infer(const AveragePoolBackward& p, Types in) {
  expect_inputs(in, 1, p.kName);
  return {unpooled(p, in[0])};
}

Values gradient(const MaxPool& p, GradientContext& g) {
  const Shape spatial = spatial_of(g.input(0).shape());
  return {g.emit_one(MaxPoolBackward{p.window, p.kernel, p.ceil_mode, spatial}, {g.output_gradient(0), g.output(1)})};
}

Values gradient(const AveragePool& p, GradientContext& g) {
  const Shape spatial = spatial_of(g.input(0).shape());
  return {g.emit_one(AveragePoolBackward{p.window, p.kernel, p.ceil_mode, p.count_include_pad, spatial},
                     {g.output_gradient(0)})};
}

Values gradient(const AveragePoolBackward& p, GradientContext& g) {
  return {g.emit_one(AveragePool{p.window, p.kernel, p.ceil_mode, p.count_include_pad}, {g.output_gradient(0)})};
}

}  // namespace arbalest
