// Activation functions and softmax.
#include <cmath>
#include <numbers>

#include "graph/base/error.h"
#include "graph/element_index.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

Scalar op1(ScalarOp op, const Scalar& x) { return Scalar::make(op, {x}); }
Scalar expm1(const Scalar& x) { return op1(ScalarOp::expm1, x); }
Scalar softplus_of(const Scalar& x) {  // log(1 + exp(x)) without overflow
  return max(x, Scalar::constant(0.0, x.type())) + op1(ScalarOp::log1p, exp(-abs(x)));
}
// Passes the gradient at the bounds.
Scalar clip_to(const Scalar& x, double low, double high) { return select(x < low, low, select(x > high, high, x)); }

Scalar mish_of(const Scalar& x) { return x * tanh(softplus_of(x)); }
Scalar hard_swish_of(const Scalar& x) { return x * clip_to(x * (1.0 / 6) + 0.5, 0, 1); }
Scalar softsign_of(const Scalar& x) { return x / (1 + abs(x)); }

// LeakyRelu-1, 6, 16: the slope follows the sign of the input, also where alpha is negative
Values leaky_relu(OpContext& op) {
  op.ignore_attribute("consumed_inputs");
  const float alpha = op.attribute("alpha", 0.01f);
  return {map([&](Scalar x) { return select(x < 0, alpha * x, x); }, op.input(0))};
}

// PRelu-1, 6: the slope has one element or one a channel; PRelu-7, 9, 16: it broadcasts
Values prelu(OpContext& op) {
  op.ignore_attribute("consumed_inputs");
  const Value x = op.input(0);
  Value slope = op.input(1);
  if (op.version() < 7 && slope.rank() == 1 && x.rank() > 2) {
    Shape shape(static_cast<size_t>(x.rank()) - 1, Dim(1));
    shape[0] = slope.shape()[0];
    slope = reshape(slope, shape);
  }
  return {map([](Scalar x, Scalar s) { return select(x < 0, s * x, x); }, x, slope)};
}

// Elu-1, 6, 22
Values elu(OpContext& op) {
  op.ignore_attribute("consumed_inputs");
  const float alpha = op.attribute("alpha", 1.0f);
  return {map([&](Scalar x) { return select(x < 0, alpha * expm1(x), x); }, op.input(0))};
}

// Selu-1, 6, 22
Values selu(OpContext& op) {
  op.ignore_attribute("consumed_inputs");
  const bool old = op.version() < 6;
  const float alpha = op.attribute("alpha", old ? 1.6732f : 1.67326319217681884765625f);
  const float gamma = op.attribute("gamma", old ? 1.0507f : 1.05070102214813232421875f);
  return {map([&](Scalar x) { return gamma * select(x > 0, x, alpha * expm1(x)); }, op.input(0))};
}

// Celu-12, 28
Values celu(OpContext& op) {
  const float alpha = op.attribute("alpha", 1.0f);
  require(alpha != 0, "attribute 'alpha' is 0");
  return {map([&](Scalar x) { return select(x < 0, alpha * expm1(x / alpha), x); }, op.input(0))};
}

// Gelu-20
Values gelu(OpContext& op) {
  const std::string approximate = op.attribute("approximate", "none");
  require(approximate == "none" || approximate == "tanh", "attribute 'approximate' is '{}', expected 'none' or 'tanh'",
          approximate);
  if (approximate == "none") {
    return {map([](Scalar x) { return 0.5 * x * (1 + erf(x * std::numbers::sqrt2 / 2)); }, op.input(0))};
  }
  const double c = std::sqrt(2 / std::numbers::pi);
  return {map([&](Scalar x) { return 0.5 * x * (1 + tanh(c * (x + 0.044715 * x * x * x))); }, op.input(0))};
}

// HardSigmoid-1, 6, 22
Values hard_sigmoid(OpContext& op) {
  op.ignore_attribute("consumed_inputs");
  const float alpha = op.attribute("alpha", 0.2f);
  const float beta = op.attribute("beta", 0.5f);
  return {map([&](Scalar x) { return clip_to(alpha * x + beta, 0, 1); }, op.input(0))};
}

// ThresholdedRelu-10, 22
Values thresholded_relu(OpContext& op) {
  const float alpha = op.attribute("alpha", 1.0f);
  return {map([&](Scalar x) { return select(x > alpha, x, 0.0); }, op.input(0))};
}

// Shrink-9
Values shrink(OpContext& op) {
  const float bias = op.attribute("bias", 0.0f);
  const float lambd = op.attribute("lambd", 0.5f);
  const auto f = [&](Scalar x) { return select(x < -lambd, x + bias, select(x > lambd, x - bias, 0.0)); };
  return {map(f, op.input(0))};
}

// Swish-24
Values swish(OpContext& op) {
  const float alpha = op.attribute("alpha", 1.0f);
  return {map([&](Scalar x) { return x * sigmoid(alpha * x); }, op.input(0))};
}

// SwiGLU-28
Values swiglu(OpContext& op) {
  const float alpha = op.attribute("alpha", 1.0f);
  return {map([&](Scalar a, Scalar b) { return a * sigmoid(alpha * a) * b; }, op.input(0), op.input(1))};
}

// Clip-1, 6: bounds are attributes; Clip-11, 12, 13: scalar inputs, each of which may be missing
Value at_least(OpContext& op, const Value& x, int bound) {
  const auto known = op.constant_number(bound);
  if (known) return map([&](Scalar x) { return select(x < *known, *known, x); }, x);
  return map([](Scalar x, Scalar low) { return select(x < low, low, x); }, x, op.input(bound));
}
Value at_most(OpContext& op, const Value& x, int bound) {
  const auto known = op.constant_number(bound);
  if (known) return map([&](Scalar x) { return select(x > *known, *known, x); }, x);
  return map([](Scalar x, Scalar high) { return select(x > high, high, x); }, x, op.input(bound));
}
Values clip(OpContext& op) {
  Value x = op.input(0);
  if (op.version() >= 11) {
    if (op.has_input(1)) x = at_least(op, x, 1);
    if (op.has_input(2)) x = at_most(op, x, 2);
    return {x};
  }
  op.ignore_attribute("consumed_inputs");
  const float low = op.attribute("min", 0.0f);
  const float high = op.attribute("max", 0.0f);
  if (op.has_attribute("min")) x = map([&](Scalar x) { return select(x < low, low, x); }, x);
  if (op.has_attribute("max")) x = map([&](Scalar x) { return select(x > high, high, x); }, x);
  return {x};
}

// Softmax, LogSoftmax, Hardmax-1, 11: over all axes from `axis` on, taken as one; -13: along one axis
Value along_axis(OpContext& op, const std::function<Value(const Value&, int)>& f) {
  const Value x = op.input(0);
  const bool one_axis = op.version() >= 13;
  const int axis = normalise_axis(op.attribute("axis", one_axis ? -1 : 1), x.rank());
  if (one_axis || axis == x.rank() - 1) return f(x, axis);
  Dim rows(1), columns(1);
  for (int i = 0; i < x.rank(); ++i)
    (i < axis ? rows : columns) = (i < axis ? rows : columns) * x.shape()[static_cast<size_t>(i)];
  return reshape(f(reshape(x, Shape{rows, columns}), 1), x.shape());
}
Values softmax(OpContext& op) {
  return {along_axis(op, [&](const Value& x, int axis) { return op.builder().emit_one(Softmax{axis, false}, {x}); })};
}
Values log_softmax(OpContext& op) {
  return {along_axis(op, [&](const Value& x, int axis) { return op.builder().emit_one(Softmax{axis, true}, {x}); })};
}
// 1 at the first maximum: where the position along the axis is that of the maximum.
Values hardmax(OpContext& op) {
  return {along_axis(op, [&](const Value& x, int axis) {
    const Value first = op.builder().emit_one(ArgReduce{Reduction::max, axis, true, false}, {x});
    const Value position = position_numbers(op.builder(), x.shape()[static_cast<size_t>(axis)], 0, x.rank() - axis);
    return map([&](Scalar p, Scalar f) { return cast(equal(p, f), x.dtype()); }, position, first);
  })};
}

}  // namespace

void register_activation(Translator& t);
void register_activation(Translator& t) {
  t.add("Relu", {1, 6, 13, 14}, elementwise([](Scalar x) { return relu(x); }));
  t.add("Sigmoid", {1, 6, 13}, elementwise([](Scalar x) { return sigmoid(x); }));
  t.add("Tanh", {1, 6, 13}, elementwise([](Scalar x) { return tanh(x); }));
  t.add("Softplus", {1, 22}, elementwise(softplus_of));
  t.add("Softsign", {1, 22}, elementwise(softsign_of));
  t.add("Mish", {18, 22}, elementwise(mish_of));
  t.add("HardSwish", {14, 22}, elementwise(hard_swish_of));
  t.add("LeakyRelu", {1, 6, 16}, leaky_relu);
  t.add("PRelu", {1, 6, 7, 9, 16}, prelu);
  t.add("Elu", {1, 6, 22}, elu);
  t.add("Selu", {1, 6, 22}, selu);
  t.add("Celu", {12, 28}, celu);
  t.add("Gelu", {20}, gelu);
  t.add("HardSigmoid", {1, 6, 22}, hard_sigmoid);
  t.add("ThresholdedRelu", {10, 22}, thresholded_relu);
  t.add("Shrink", {9}, shrink);
  t.add("Swish", {24}, swish);
  t.add("SwiGLU", {28}, swiglu);
  t.add("Clip", {1, 6, 11, 12, 13}, clip);
  t.add("Softmax", {1, 11, 13}, softmax);
  t.add("LogSoftmax", {1, 11, 13}, log_softmax);
  t.add("Hardmax", {1, 11, 13}, hardmax);
}

}  // namespace arbalest
