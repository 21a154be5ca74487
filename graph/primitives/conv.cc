#include "graph/primitives/conv.h"

#include <algorithm>

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"

namespace arbalest {

namespace {

// What all three share: x [N, C, ...], w [M, C/groups, k...] -> y's shape.
Shape convolved(const Window& window, int64_t groups, const Shape& x, const Shape& w) {
  require(3 <= x.rank() && x.rank() <= 5,
          "the input has rank {} ({}), expected 3 to 5: batch, channels, 1 to 3 spatial axes", x.rank(), to_string(x));
  require(w.rank() == x.rank(), "the weight has rank {} ({}), the input {} ({})", w.rank(), to_string(w), x.rank(),
          to_string(x));
  require(groups >= 1, "{} groups, expected at least 1", groups);
  require(may_equal(w[1] * groups, x[1]), "weight expects {} input channels, the input has {}",
          to_string(w[1] * groups), to_string(x[1]));
  require(!w[0].is_constant() || w[0].value() % groups == 0, "{} output channels cannot be divided into {} groups",
          to_string(w[0]), groups);
  expect_window(window, x.rank() - 2);
  Shape y{x[0], w[0]};
  for (int i = 2; i < x.rank(); ++i) {
    const auto axis = static_cast<size_t>(i);
    require(!w[axis].is_constant() || w[axis].value() >= 1, "the weight {} has an empty kernel", to_string(w));
    y.push_back(window_output(window, i - 2, x[axis], w[axis], /*ceil_mode=*/false));
  }
  return y;
}

Shape with_spatial(Dim first, Dim second, const Shape& spatial) {
  Shape shape{std::move(first), std::move(second)};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

}  // namespace

std::vector<TensorType> infer(const Conv& p, Types in) {
  expect_inputs(in, p.bias ? 3 : 2, p.kName);
  expect_float(in[0], "the input");
  expect_dtype(in[1], in[0].dtype, "the weight");
  const Shape y = convolved(p.window, p.groups, in[0].shape, in[1].shape);
  if (p.bias) {
    expect_dtype(in[2], in[0].dtype, "the bias");
    expect_shape(in[2].shape, {y[1]}, "the bias");
  }
  return {{in[0].dtype, y}};
}

std::vector<TensorType> infer(const ConvBackwardData& p, Types in) {
  expect_inputs(in, 2, p.kName);
  expect_float(in[0], "the input");
  expect_dtype(in[1], in[0].dtype, "the weight");
  const Shape &dy = in[0].shape, &w = in[1].shape;
  require(dy.rank() >= 3 && w.rank() == dy.rank(), "the weight has rank {} ({}), the input {} ({})", w.rank(),
          to_string(w), dy.rank(), to_string(dy));
  require(may_equal(dy[1], w[0]), "weight expects {} input channels, the input has {}", to_string(w[0]),
          to_string(dy[1]));
  const Shape dx = with_spatial(dy[0], w[1] * p.groups, p.spatial);
  expect_shape(dy, convolved(p.window, p.groups, dx, w), "the input");
  return {{in[0].dtype, dx}};
}

std::vector<TensorType> infer(const ConvBackwardWeights& p, Types in) {
  expect_inputs(in, 2, p.kName);
  expect_float(in[0], "the input");
  expect_dtype(in[1], in[0].dtype, "the output's gradient");
  const Shape &x = in[0].shape, &dy = in[1].shape;
  require(x.rank() >= 3 && dy.rank() == x.rank(), "the output's gradient has rank {} ({}), the input {} ({})",
          dy.rank(), to_string(dy), x.rank(), to_string(x));
  require(p.groups >= 1, "{} groups, expected at least 1", p.groups);
  const Shape w = with_spatial(dy[1], floor_div(x[1], p.groups), Shape(p.kernel));
  expect_shape(dy, convolved(p.window, p.groups, x, w), "the output's gradient");
  std::vector<TensorType> types{{in[0].dtype, w}};
  if (p.bias) types.push_back({in[0].dtype, {dy[1]}});
  return types;
}

namespace {

Dims static_spatial(const Value& w) { return spatial_of(w.shape()).dims(); }

// The sum over everything but the channels.
Value bias_gradient(const Value& dy) {
  std::vector<int> axes{0};
  for (int i = 2; i < dy.rank(); ++i) axes.push_back(i);
  return reduce(Reduction::sum, dy, axes, Keep::no);
}

}  // namespace

Values gradient(const Conv& p, GradientContext& g) {
  const Value x = g.input(0), w = g.input(1), dy = g.output_gradient(0);
  const bool bias = p.bias && g.needs(2);
  Values result(p.bias ? 3 : 2);
  if (g.needs(0)) result[0] = g.emit_one(ConvBackwardData{p.window, p.groups, spatial_of(x.shape())}, {dy, w});
  if (g.needs(1)) {
    const Values dw = g.emit(ConvBackwardWeights{p.window, p.groups, static_spatial(w), bias}, {x, dy});
    std::copy(dw.begin(), dw.end(), result.begin() + 1);
  } else if (bias) {
    result[2] = bias_gradient(dy);
  }
  return result;
}

// Linear in both inputs; its transpose is the convolution.
Values gradient(const ConvBackwardData& p, GradientContext& g) {
  const Value dy = g.input(0), w = g.input(1), slope = g.output_gradient(0);
  Values result(2);
  if (g.needs(0)) result[0] = g.emit_one(Conv{p.window, p.groups, /*bias=*/false}, {slope, w});
  if (g.needs(1)) {
    result[1] = g.emit_one(ConvBackwardWeights{p.window, p.groups, static_spatial(w), /*bias=*/false}, {slope, dy});
  }
  return result;
}

// dw is linear in x and dy, and takes the part of w in what they compute.
Values gradient(const ConvBackwardWeights& p, GradientContext& g) {
  const Value x = g.input(0), dy = g.input(1), slope = g.output_gradient(0);
  Values result(2);
  if (g.needs(0)) result[0] = g.emit_one(ConvBackwardData{p.window, p.groups, spatial_of(x.shape())}, {dy, slope});
  if (g.needs(1)) {
    Values inputs{x, slope};
    const bool bias = p.bias && g.has_output_gradient(1);
    if (bias) inputs.push_back(g.output_gradient(1));
    result[1] = g.emit_one(Conv{p.window, p.groups, bias}, inputs);
  }
  return result;
}

}  // namespace arbalest
