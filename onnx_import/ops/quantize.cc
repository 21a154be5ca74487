// Quantisation. A quantised number stays a float until it is cast to its integer type, and DequantizeLinear reads the
// float where QuantizeLinear made it, so that weights and activations train through the pair as if it were not there
// (straight-through estimator, Bengio et al. 2013), as far as they lie inside the range.

#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/narrow_type.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

struct IntegerRange {
  double low, high;
};

IntegerRange range_of_type(DataType type, const NarrowType* narrow = nullptr) {
  if (narrow && type == DataType::u8) return {0, static_cast<double>((1 << narrow->bits) - 1)};
  if (narrow)
    return {-static_cast<double>(1 << (narrow->bits - 1)), static_cast<double>((1 << (narrow->bits - 1)) - 1)};
  switch (type) {
    case DataType::i8:
      return {-128, 127};
    case DataType::u8:
      return {0, 255};
    case DataType::i16:
      return {-32768, 32767};
    case DataType::u16:
      return {0, 65535};
    default:
      throw Error(ErrorKind::unsupported, "quantised numbers of type {}", name_of(type));
  }
}

// A scale or zero point beside x: one for all, one an index of the axis, or one a block of `block` indices of the axis.
Value beside(const Value& v, const Value& x, OpContext& op) {
  const int64_t axis = op.attribute("axis", 1);
  const int64_t block = op.version() >= 21 ? op.attribute("block_size", 0) : 0;
  if (v.shape().element_count() == Dim(1)) return reshape(v, {});
  const auto i = static_cast<size_t>(normalise_axis(axis, x.rank()));
  if (block == 0) {
    require(v.rank() == 1, "a scale or zero point has shape {}, expected one number an index of axis {}",
            to_string(v.shape()), i);
    Shape shape(x.shape().size() - i, Dim(1));
    shape[0] = v.shape()[0];
    return reshape(v, shape);
  }
  require(block > 0 && v.rank() == x.rank(), "attribute 'block_size' is {}, the scale has shape {}, the input {}",
          block, to_string(v.shape()), to_string(x.shape()));
  Shape split = v.shape(), repeated, joined = v.shape();
  split.insert(split.begin() + static_cast<int64_t>(i) + 1, Dim(1));
  repeated = split;
  repeated[i + 1] = block;
  joined[i] = joined[i] * block;
  const Value wide = reshape(expand(reshape(v, split), repeated), joined);
  return slice(wide, static_cast<int>(i), 0, x.shape()[i]);
}

// The value of `rounded`, the gradient of `passed`.
Value straight_through(const Value& rounded, const Value& passed) {
  return stop_gradient(rounded) + (passed - stop_gradient(passed));
}

// The number before it is cast to its integer type. Its gradient is that of x / scale inside the range, 0 outside.
Value quantised_number(const Value& x, const Value& scale, const Value& zero, IntegerRange r, bool training) {
  const auto number = [](Scalar e, Scalar s, Scalar z) { return Scalar::make(ScalarOp::round, {e / s}) + z; };
  const auto clipped = [&](Scalar e, Scalar s, Scalar z) {
    const Scalar n = number(e, s, z);
    return select(n < r.low, r.low, select(n > r.high, r.high, n));
  };
  const Value rounded = map(clipped, x, scale, zero);
  if (!training) return rounded;
  const auto through = [&](Scalar e, Scalar s, Scalar z) {
    const Scalar n = number(e, s, z);
    return select(n < r.low, r.low, select(n > r.high, r.high, e / s));
  };
  return straight_through(rounded, map(through, x, scale, zero));
}

Value zero_like(const Value& scale) { return scale.builder().scalar(0, scale.dtype()); }

// Of float8 and float4, which have no zero point.
Value quantised_float(OpContext& op, const Value& x, const Value& scale, const NarrowType& type) {
  const bool saturate = op.attribute("saturate", 1) != 0;
  const Value rounded = map([&](Scalar e, Scalar s) { return round_to(type, e / s, saturate, "up"); }, x, scale);
  if (!op.training()) return rounded;
  const auto through = [&](Scalar e, Scalar s) { return select(abs(e / s) > type.max, 0.0, e / s); };
  return straight_through(rounded, cast(map(through, x, scale), rounded.dtype()));
}

// ONNX's number of the output's type: that of the zero point, or of an attribute.
int32_t quantised_type(OpContext& op) {
  if (op.has_input(2)) return op.onnx_type(2);
  const auto given = op.version() >= 21 ? static_cast<int32_t>(op.attribute("output_dtype", 0)) : 0;
  return given == 0 ? onnx_data_type(DataType::u8) : given;
}

// QuantizeLinear-10, 13, 19, 21, 23, 24, 25, 28
Values quantize_linear(OpContext& op) {
  if (op.version() >= 19) op.ignore_attribute("saturate");  // of 8-bit floats
  if (op.version() >= 21) op.ignore_attribute("output_dtype");
  if (op.version() >= 23) op.ignore_attribute("precision");
  const Value given = op.input(1), x = cast(op.input(0), given.dtype());
  const int32_t onnx_type = quantised_type(op);
  const auto type = storage_type_of_onnx(onnx_type);
  if (!type) throw Error(ErrorKind::unsupported, "quantised numbers of type {}", onnx_type_name(onnx_type));
  const NarrowType* narrow = narrow_type(onnx_type);
  op.set_onnx_type(0, onnx_type);
  const Value scale = stop_gradient(beside(given, x, op));
  if (narrow && is_float(*type)) return {quantised_float(op, x, scale, *narrow)};
  const Value zero = op.has_input(2) ? cast(beside(op.input(2), x, op), given.dtype()) : zero_like(given);
  return {cast(quantised_number(x, scale, zero, range_of_type(*type, narrow), op.training()), *type)};
}

// DynamicQuantizeLinear-11: scale and zero point from the least and the greatest element, and 0
Values dynamic_quantize_linear(OpContext& op) {
  const Value x = op.input(0);
  const IntegerRange r = range_of_type(DataType::u8);
  std::vector<int> axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  const Value low = stop_gradient(reduce(Reduction::min, x, axes, Keep::no));
  const Value high = stop_gradient(reduce(Reduction::max, x, axes, Keep::no));
  const auto step = [&](Scalar a, Scalar b) {
    const Scalar zero = Scalar::constant(0.0, a.type());
    const Scalar width = max(b, zero) - min(a, zero);
    return select(equal(width, 0), 1.0, width) / r.high;
  };
  const Value scale = map(step, low, high);
  const auto origin = [&](Scalar a, Scalar s) {
    const Scalar z = -min(a, Scalar::constant(0.0, a.type())) / s;
    return Scalar::make(ScalarOp::round, {select(z > r.high, r.high, z)});
  };
  const Value zero = map(origin, low, scale);
  const Value number = quantised_number(x, scale, zero, r, op.training());
  return {cast(number, DataType::u8), scale, cast(zero, DataType::u8)};
}

bool is_quantiser(const std::string& origin) {
  return origin.ends_with("(QuantizeLinear)") || origin.ends_with("(DynamicQuantizeLinear)");
}

// The float number behind a quantised one, also through nodes that only move elements; none where there is none.
Value float_form(const Value& x) {
  Builder& b = x.builder();
  const Node* node = b.graph().producer(x.id());
  if (!node) return {};
  const Value input = node->inputs.empty() ? Value() : b.value(node->inputs[0]);
  if (const auto* p = std::get_if<Map>(&node->primitive)) {
    const bool is_cast = p->expression.op() == ScalarOp::cast && node->inputs.size() == 1 &&
                         p->expression.operands()[0].op() == ScalarOp::input;
    return is_cast && is_float(input.dtype()) && is_quantiser(node->origin) ? input : Value();
  }
  const Primitive& p = node->primitive;
  const bool moves = std::holds_alternative<Reshape>(p) || std::holds_alternative<Transpose>(p) ||
                     std::holds_alternative<Slice>(p) || std::holds_alternative<Expand>(p);
  const Value inner = moves ? float_form(input) : Value();
  return inner ? b.emit_one(p, {inner}) : Value();
}

// DequantizeLinear-10, 13, 19, 21, 23, 24, 25, 28
Values dequantize_linear(OpContext& op) {
  const Value x = op.input(0), given = op.input(1);
  if (op.version() >= 23) {
    const auto type = static_cast<int32_t>(op.attribute("output_dtype", 0));
    require(type == 0 || (data_type_of_onnx(type) && is_float(*data_type_of_onnx(type))),
            "attribute 'output_dtype' is {}, expected a float type", onnx_type_name(type));
  }
  require(is_float(given.dtype()), "the scale is {}, expected a float", to_string(given.type()));
  const Value origin = op.optional_input(2);
  if (origin)
    require(origin.dtype() == x.dtype(), "the zero point is {}, the input {}", name_of(origin.dtype()),
            name_of(x.dtype()));
  const Value inner = float_form(x);
  const Value number = cast(inner ? inner : x, given.dtype());
  const Value scale = stop_gradient(beside(given, x, op));
  const Value zero = origin ? cast(beside(origin, x, op), given.dtype()) : zero_like(given);
  return {map([](Scalar n, Scalar s, Scalar z) { return (n - z) * s; }, number, scale, zero)};
}

}  // namespace

void register_quantize(Translator& t);
void register_quantize(Translator& t) {
  const std::vector<int> versions = {10, 13, 19, 21, 23, 24, 25, 28};
  t.add("QuantizeLinear", versions, quantize_linear);
  t.add("DequantizeLinear", versions, dequantize_linear);
  t.add("DynamicQuantizeLinear", {11}, dynamic_quantize_linear);
  t.add("QuantizeLinear", {1}, quantize_linear, "com.microsoft");
  t.add("DequantizeLinear", {1}, dequantize_linear, "com.microsoft");
}

}  // namespace arbalest
