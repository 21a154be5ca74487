// Arithmetic, mathematics, comparisons and logic, element by element.
#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/narrow_type.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

Translation unary(ScalarOp o) {
  return elementwise([o](Scalar x) { return Scalar::make(o, {x}); });
}

// Sign-9, Floor, Ceil, Round: their derivative is zero, and 1 where the user asks for a straight-through gradient.
Translation step(ScalarOp o) {
  return [o](OpContext& op) {
    op.ignore_attribute("consumed_inputs");
    const Value x = op.input(0);
    const Value y = map([o](Scalar e) { return Scalar::make(o, {e}); }, x);
    if (!op.straight_through() || !is_float(x.dtype())) return Values{y};
    return Values{(x - stop_gradient(x)) + stop_gradient(y)};  // the difference is exactly 0
  };
}

void require_one_type(const Value& a, const Value& b) {
  require(a.dtype() == b.dtype(), "operands are {} and {}, expected one type", to_string(a.type()),
          to_string(b.type()));
}

Value binary(ScalarOp o, const Value& a, const Value& b) {
  require_one_type(a, b);
  return map([o](Scalar x, Scalar y) { return Scalar::make(o, {x, y}); }, a, b);
}

// Before version 7 the second operand broadcasts only if `broadcast` is set, from `axis` on (default: to the end).
Value second_operand(OpContext& op, int version_of_numpy_rules = 7) {
  const Value a = op.input(0), b = op.input(1);
  if (op.version() >= version_of_numpy_rules) return b;
  op.ignore_attribute("consumed_inputs");
  const bool broadcasts = op.attribute("broadcast", 0) != 0;
  if (!op.has_attribute("axis") || !broadcasts) return b;
  const int axis = normalise_axis(op.attribute("axis", 0), a.rank());
  require(axis + b.rank() <= a.rank(), "{} cannot be broadcast to {} from axis {} on", to_string(b.shape()),
          to_string(a.shape()), axis);
  Shape shape = b.shape();
  shape.resize(static_cast<size_t>(a.rank() - axis), Dim(1));
  return reshape(b, shape);
}

// Add, Sub, Mul, Div-1, 6, 7, 13, 14; And, Or, Xor-1, 7; Equal, Less, Greater-1, 7, ...; BitwiseAnd, ...
Translation binary(ScalarOp o) {
  return [o](OpContext& op) { return Values{binary(o, op.input(0), second_operand(op))}; };
}
// x o y, with the operands exchanged: Greater is Less of the other order.
Translation exchanged(ScalarOp o) {
  return [o](OpContext& op) { return Values{binary(o, second_operand(op), op.input(0))}; };
}

// Sum, Mean, Min, Max-1, 6, 8, 13: any number of inputs
Value fold(OpContext& op, ScalarOp o) {
  op.ignore_attribute("consumed_inputs");
  Value all = op.input(0);
  for (int i = 1; i < op.input_count(); ++i) all = binary(o, all, op.input(i));
  return all;
}
Translation folded(ScalarOp o) {
  return [o](OpContext& op) { return Values{fold(op, o)}; };
}
Values mean(OpContext& op) { return {fold(op, ScalarOp::add) * (1.0 / op.input_count())}; }

// Pow-1, 7, 12, 13, 15: the exponent may have another type from 12 on
Values power(OpContext& op) {
  const Value x = op.input(0);
  const auto is_scalar = [](const Value& v) { return v.shape().element_count() == Dim(1) && v.rank() == 0; };
  if (is_scalar(op.input(1)) && is_float(x.dtype())) {
    if (const auto exponent = op.constant_number(1)) return {map([&](Scalar b) { return pow(b, *exponent); }, x)};
  }
  const Value exponent = second_operand(op);
  if (exponent.dtype() == x.dtype()) return {binary(ScalarOp::pow, x, exponent)};
  if (is_float(exponent.dtype())) return {cast(binary(ScalarOp::pow, cast(x, exponent.dtype()), exponent), x.dtype())};
  return {binary(ScalarOp::pow, x, cast(exponent, x.dtype()))};
}

// Mod-10, 13, 28
Values mod(OpContext& op) {
  const bool fmod = op.attribute("fmod", 0) != 0;
  require(fmod || !is_float(op.input(0).dtype()), "attribute 'fmod' must be 1 for floats");
  return {binary(fmod ? ScalarOp::fmod : ScalarOp::mod, op.input(0), op.input(1))};
}

// BitShift-11, 28
Values bit_shift(OpContext& op) {
  const std::string direction = op.attribute("direction", "");
  require(direction == "LEFT" || direction == "RIGHT", "attribute 'direction' is '{}', expected 'LEFT' or 'RIGHT'",
          direction);
  return {binary(direction == "LEFT" ? ScalarOp::shift_left : ScalarOp::shift_right, op.input(0), op.input(1))};
}

// IsInf-10, 20
Values is_inf(OpContext& op) {
  const bool positive = op.attribute("detect_positive", 1) != 0;
  const bool negative = op.attribute("detect_negative", 1) != 0;
  return {map(
      [&](Scalar x) {
        const Scalar infinite = Scalar::make(ScalarOp::is_inf, {x});
        if (positive && negative) return infinite;
        if (positive) return infinite && x > 0;
        return negative ? infinite && x < 0 : Scalar::constant(int64_t{0}, DataType::boolean);
      },
      op.input(0))};
}

// Where-9, 16
Values where(OpContext& op) {
  require(op.input(0).dtype() == DataType::boolean, "the condition is {}, expected bool",
          to_string(op.input(0).type()));
  require_one_type(op.input(1), op.input(2));
  return {map([](Scalar c, Scalar a, Scalar b) { return select(c, a, b); }, op.input(0), op.input(1), op.input(2))};
}

// 16-bit floats are float32 here, so a cast from or to them changes nothing but the values' last bits.
Values cast_to(OpContext& op, int32_t onnx_type) {
  const bool saturate = op.attribute("saturate", 1) != 0;
  const std::string round_mode = op.attribute("round_mode", "up");
  if (const NarrowType* narrow = narrow_type(onnx_type)) {
    op.set_onnx_type(0, onnx_type);
    return {map([&](Scalar x) { return round_to(*narrow, x, saturate, round_mode); }, op.input(0))};
  }
  const auto type = data_type_of_onnx(onnx_type);
  if (!type) throw Error(ErrorKind::unsupported, "a cast to {}", onnx_type_name(onnx_type));
  const bool half = *type == DataType::f16 || *type == DataType::bf16;
  return {cast(op.input(0), half ? DataType::f32 : *type)};
}

// Cast-6, 9, 13, 19, 21, 23, 24, 25, 28: saturate and round_mode concern 8-bit floats only
Values cast_to_attribute(OpContext& op) { return cast_to(op, static_cast<int32_t>(op.required_integer("to"))); }

// CastLike-15, 19, 21, 23, 24, 25
Values cast_like(OpContext& op) {
  op.input(1);
  return cast_to(op, op.onnx_type(1));
}

// BitCast-26: integers of one width are each other's bits; the bits of floats are known of constants only.
Values bit_cast(OpContext& op) {
  const Value x = op.input(0);
  const auto onnx_type = static_cast<int32_t>(op.required_integer("to"));
  const auto type = data_type_of_onnx(onnx_type);
  if (!type) throw Error(ErrorKind::unsupported, "the bits of a {}", onnx_type_name(onnx_type));
  require(size_of(*type) == size_of(x.dtype()), "the bits of a {} as a {}, expected a type of the same width",
          name_of(x.dtype()), name_of(*type));
  if (!is_float(*type) && !is_float(x.dtype())) return {cast(x, *type)};
  const TensorPtr constant = op.constant_tensor(0);
  if (!constant) throw Error(ErrorKind::unsupported, "the bits of floats that are computed from the data");
  HostTensor bits = *constant;
  bits.dtype = *type;
  return {op.builder().constant(std::make_shared<const HostTensor>(std::move(bits)))};
}

// Identity-1, 13, 14, 16, ..., 25: of tensors, sequences and optionals
Values identity(OpContext& op) {
  op.give(0, op.item(0));
  return {};
}

}  // namespace

void register_elementwise(Translator& t);
void register_elementwise(Translator& t) {
  t.add("Add", {1, 6, 7, 13, 14}, binary(ScalarOp::add));
  t.add("Sub", {1, 6, 7, 13, 14}, binary(ScalarOp::sub));
  t.add("Mul", {1, 6, 7, 13, 14}, binary(ScalarOp::mul));
  t.add("Div", {1, 6, 7, 13, 14}, binary(ScalarOp::div));
  t.add("Sum", {1, 6, 8, 13}, folded(ScalarOp::add));
  t.add("Mean", {1, 6, 8, 13}, mean);
  t.add("Min", {1, 6, 8, 12, 13}, folded(ScalarOp::min));
  t.add("Max", {1, 6, 8, 12, 13}, folded(ScalarOp::max));
  t.add("Pow", {1, 7, 12, 13, 15}, power);
  t.add("Mod", {10, 13, 28}, mod);

  t.add("Abs", {1, 6, 13}, unary(ScalarOp::abs));
  t.add("Neg", {1, 6, 13}, unary(ScalarOp::neg));
  t.add("Sign", {9, 13}, step(ScalarOp::sign));
  t.add("Floor", {1, 6, 13}, step(ScalarOp::floor));
  t.add("Ceil", {1, 6, 13}, step(ScalarOp::ceil));
  t.add("Round", {11, 22}, step(ScalarOp::round));
  t.add("Exp", {1, 6, 13}, unary(ScalarOp::exp));
  t.add("Log", {1, 6, 13}, unary(ScalarOp::log));
  t.add("Sqrt", {1, 6, 13}, unary(ScalarOp::sqrt));
  t.add("Reciprocal", {1, 6, 13}, unary(ScalarOp::reciprocal));
  t.add("Erf", {9, 13}, unary(ScalarOp::erf));
  t.add("Sin", {7, 22}, unary(ScalarOp::sin));
  t.add("Cos", {7, 22}, unary(ScalarOp::cos));
  t.add("Tan", {7, 22}, unary(ScalarOp::tan));
  t.add("Asin", {7, 22}, unary(ScalarOp::asin));
  t.add("Acos", {7, 22}, unary(ScalarOp::acos));
  t.add("Atan", {7, 22}, unary(ScalarOp::atan));
  t.add("Sinh", {9, 22}, unary(ScalarOp::sinh));
  t.add("Cosh", {9, 22}, unary(ScalarOp::cosh));
  t.add("Asinh", {9, 22}, unary(ScalarOp::asinh));
  t.add("Acosh", {9, 22}, unary(ScalarOp::acosh));
  t.add("Atanh", {9, 22}, unary(ScalarOp::atanh));

  t.add("IsNaN", {9, 13, 20}, unary(ScalarOp::is_nan));
  t.add("IsInf", {10, 20}, is_inf);
  t.add("Not", {1}, unary(ScalarOp::logical_not));
  t.add("And", {1, 7}, binary(ScalarOp::logical_and));
  t.add("Or", {1, 7}, binary(ScalarOp::logical_or));
  t.add("Xor", {1, 7}, binary(ScalarOp::logical_xor));
  t.add("BitShift", {11, 28}, bit_shift);
  t.add("BitwiseAnd", {18}, binary(ScalarOp::bit_and));
  t.add("BitwiseOr", {18}, binary(ScalarOp::bit_or));
  t.add("BitwiseXor", {18}, binary(ScalarOp::bit_xor));
  t.add("BitwiseNot", {18}, unary(ScalarOp::bit_not));
  t.add("Equal", {1, 7, 11, 13, 19}, binary(ScalarOp::equal));
  t.add("Less", {1, 7, 9, 13}, binary(ScalarOp::less));
  t.add("LessOrEqual", {12, 16}, binary(ScalarOp::less_equal));
  t.add("Greater", {1, 7, 9, 13}, exchanged(ScalarOp::less));
  t.add("GreaterOrEqual", {12, 16}, exchanged(ScalarOp::less_equal));
  t.add("Where", {9, 16}, where);

  t.add("Cast", {6, 9, 13, 19, 21, 23, 24, 25, 28}, cast_to_attribute);
  t.add("CastLike", {15, 19, 21, 23, 24, 25}, cast_like);
  t.add("BitCast", {26}, bit_cast);
  t.add("Identity", {1, 13, 14, 16, 19, 21, 23, 24, 25}, identity);
}

}  // namespace arbalest
