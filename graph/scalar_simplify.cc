#include "graph/scalar_simplify.h"

#include <cmath>

#include "graph/scalar_parts.h"

namespace arbalest {

namespace {

using Rewrite = std::optional<Scalar>;

Scalar boolean_constant(bool value) { return Scalar::constant(static_cast<int64_t>(value), DataType::boolean); }

bool is(const Scalar& x, double value) { return x.is_constant() && x.value() == value; }
const Scalar& operand(const Scalar& x, size_t i = 0) { return x.operands()[i]; }

// Multiplying by it only changes the exponent.
bool is_power_of_two(const Scalar& x) {
  int exponent = 0;
  return x.is_constant() && is_float(x.type()) && std::fabs(std::frexp(x.value(), &exponent)) == 0.5;
}

Rewrite simplify_add(const Scalar& a, const Scalar& b) {
  if (is(b, 0)) return a;
  if (b.op() == ScalarOp::neg) return make(ScalarOp::sub, a, operand(b));
  if (a.op() == ScalarOp::neg) return make(ScalarOp::sub, b, operand(a));
  if (is_integer(a.type()) && b.is_constant() && a.op() == ScalarOp::add && operand(a, 1).is_constant())
    return make(ScalarOp::add, operand(a), make(ScalarOp::add, operand(a, 1), b));
  return {};
}

Rewrite simplify_sub(const Scalar& a, const Scalar& b) {
  if (is(b, 0)) return a;
  if (is(a, 0)) return make(ScalarOp::neg, b);
  if (b.op() == ScalarOp::neg) return make(ScalarOp::add, a, operand(b));
  if (is_integer(a.type()) && a == b) return number(0, a);
  return {};
}

// x * select(c, k, 0) = select(c, k * x, 0): the slope of a relu keeps inf * 0 out of derivatives. Only for constants,
// since moving into nested selects would rebuild a chain of them at each step.
Rewrite multiply_select(const Scalar& x, const Scalar& s) {
  if (s.op() != ScalarOp::select || !operand(s, 1).is_constant() || !operand(s, 2).is_constant()) return {};
  if (is(operand(s, 2), 0))
    return Scalar::make(ScalarOp::select, {operand(s), make(ScalarOp::mul, operand(s, 1), x), operand(s, 2)});
  if (is(operand(s, 1), 0))
    return Scalar::make(ScalarOp::select, {operand(s), operand(s, 1), make(ScalarOp::mul, operand(s, 2), x)});
  return {};
}

Rewrite simplify_mul(const Scalar& a, const Scalar& b) {  // a constant is a
  if (is(a, 1)) return b;
  if (is(a, 0)) return a;
  if (is(a, -1)) return make(ScalarOp::neg, b);
  if (a.is_constant() && b.op() == ScalarOp::neg) return make(ScalarOp::mul, make(ScalarOp::neg, a), operand(b));
  if (a.op() == ScalarOp::neg && b.op() == ScalarOp::neg) return make(ScalarOp::mul, operand(a), operand(b));
  if (a.is_constant() && b.op() == ScalarOp::mul && operand(b).is_constant() &&
      (is_integer(a.type()) || is_power_of_two(a) || is_power_of_two(operand(b))))
    return make(ScalarOp::mul, make(ScalarOp::mul, a, operand(b)), operand(b, 1));
  if (auto moved = multiply_select(a, b)) return moved;
  return multiply_select(b, a);
}

Rewrite simplify_div(const Scalar& a, const Scalar& b) {
  if (is(b, 1)) return a;
  if (is(b, -1)) return make(ScalarOp::neg, a);
  if (!is_float(a.type())) return {};
  if (is(a, 1)) return make(ScalarOp::reciprocal, b);
  if (is_power_of_two(b) && std::isfinite(1 / b.value())) {
    const Scalar inverse = number(1 / b.value(), b);
    if (is_power_of_two(inverse)) return make(ScalarOp::mul, inverse, a);  // not when it overflows the type
  }
  return {};
}

Rewrite simplify_neg(const Scalar& x) {
  if (x.op() == ScalarOp::neg) return operand(x);
  if (x.op() == ScalarOp::sub) return make(ScalarOp::sub, operand(x, 1), operand(x));
  if (x.op() == ScalarOp::mul && operand(x).is_constant())
    return make(ScalarOp::mul, make(ScalarOp::neg, operand(x)), operand(x, 1));
  return {};
}

Scalar whole_power(const Scalar& x, int exponent) {  // exponent > 0
  if (exponent == 1) return x;
  const Scalar half = whole_power(x, exponent / 2);
  const Scalar even = make(ScalarOp::mul, half, half);
  return exponent % 2 == 0 ? even : make(ScalarOp::mul, even, x);
}

Rewrite simplify_pow(const Scalar& x, const Scalar& exponent) {
  if (!exponent.is_constant()) return {};
  const double e = exponent.value();
  if (e == 0) return number(1, x);
  if (e >= 1 && e <= 8 && e == std::floor(e)) return whole_power(x, static_cast<int>(e));
  if (!is_float(x.type())) return {};
  if (e == 0.5) return make(ScalarOp::sqrt, x);
  if (e == -0.5) return make(ScalarOp::reciprocal, make(ScalarOp::sqrt, x));
  if (e == -1 || e == -2) return make(ScalarOp::reciprocal, whole_power(x, static_cast<int>(-e)));
  return {};
}

Rewrite simplify_comparison(ScalarOp op, const Scalar& a, const Scalar& b) {
  if (op == ScalarOp::less) return a == b ? Rewrite(boolean_constant(false)) : Rewrite();  // NaN < NaN is false as well
  return !is_float(a.type()) && a == b ? Rewrite(boolean_constant(true)) : Rewrite();
}

Rewrite simplify_logic(ScalarOp op, const Scalar& a, const Scalar& b) {
  const bool is_and = op == ScalarOp::logical_and;
  if (op == ScalarOp::logical_xor) {
    if (is(b, 0)) return a;
    return is(b, 1) ? Rewrite(make(ScalarOp::logical_not, a)) : Rewrite();
  }
  if (b.is_constant()) return is(b, is_and ? 1 : 0) ? a : b;
  return a == b ? Rewrite(a) : Rewrite();
}

Rewrite simplify_select(const Scalar& condition, const Scalar& a, const Scalar& b) {
  if (condition.is_constant()) return is(condition, 1) ? a : b;
  if (a == b) return a;
  if (condition.op() == ScalarOp::logical_not) return Scalar::make(ScalarOp::select, {operand(condition), b, a});
  if (a.type() == DataType::boolean && is(a, 1) && is(b, 0)) return condition;
  if (a.type() == DataType::boolean && is(a, 0) && is(b, 1)) return make(ScalarOp::logical_not, condition);
  if (a.op() == ScalarOp::select && operand(a) == condition)
    return Scalar::make(ScalarOp::select, {condition, operand(a, 1), b});
  if (b.op() == ScalarOp::select && operand(b) == condition)
    return Scalar::make(ScalarOp::select, {condition, a, operand(b, 2)});
  return {};
}

Rewrite simplify_unary(ScalarOp op, const Scalar& x) {
  switch (op) {
    case ScalarOp::neg:
      return simplify_neg(x);
    case ScalarOp::abs:
      if (x.op() == ScalarOp::neg) return make(ScalarOp::abs, operand(x));
      return x.op() == ScalarOp::abs || is_unsigned(x.type()) ? Rewrite(x) : Rewrite();
    case ScalarOp::relu:
      return x.op() == ScalarOp::relu || is_unsigned(x.type()) ? Rewrite(x) : Rewrite();
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round: {
      const bool whole = x.op() == ScalarOp::floor || x.op() == ScalarOp::ceil || x.op() == ScalarOp::round;
      return whole || is_integer(x.type()) ? Rewrite(x) : Rewrite();
    }
    case ScalarOp::is_nan:
    case ScalarOp::is_inf:
      return is_float(x.type()) ? Rewrite() : Rewrite(boolean_constant(false));
    case ScalarOp::logical_not:
    case ScalarOp::bit_not:
      return x.op() == op ? Rewrite(operand(x)) : Rewrite();
    default:
      return {};
  }
}

// Number of bits that hold every magnitude of the type exactly.
int exact_bits(DataType t) {
  switch (t) {
    case DataType::boolean:
      return 1;
    case DataType::i8:
      return 7;
    case DataType::u8:
    case DataType::bf16:
      return 8;
    case DataType::f16:
      return 11;
    case DataType::i16:
      return 15;
    case DataType::u16:
      return 16;
    case DataType::f32:
      return 24;
    case DataType::i32:
      return 31;
    case DataType::u32:
      return 32;
    case DataType::f64:
      return 53;
    case DataType::i64:
      return 63;
    case DataType::u64:
      return 64;
  }
  return 0;
}

// Does every value of `from` have its equal in `to`?
bool keeps_values(DataType from, DataType to) {
  if (from == to || from == DataType::boolean) return true;
  if (is_float(from)) return to == DataType::f64 || (to == DataType::f32 && from != DataType::f64);
  if (to == DataType::f16 || to == DataType::boolean) return to == DataType::f16 && exact_bits(from) <= 8;
  return exact_bits(from) <= exact_bits(to) && (is_float(to) || is_unsigned(from) || !is_unsigned(to));
}

}  // namespace

void order_operands(ScalarOp op, std::vector<Scalar>& operands) {
  switch (op) {
    case ScalarOp::mul:
      if (operands[1].is_constant()) std::swap(operands[0], operands[1]);
      return;
    case ScalarOp::add:
    case ScalarOp::min:
    case ScalarOp::max:
    case ScalarOp::equal:
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
    case ScalarOp::logical_xor:
    case ScalarOp::bit_and:
    case ScalarOp::bit_or:
    case ScalarOp::bit_xor:
      if (operands[0].is_constant()) std::swap(operands[0], operands[1]);
      return;
    default:
      return;
  }
}

std::optional<Scalar> simplify(ScalarOp op, const std::vector<Scalar>& operands) {
  if (operands.size() == 1) return simplify_unary(op, operands[0]);
  const Scalar& a = operands[0];
  const Scalar& b = operands[1];
  switch (op) {
    case ScalarOp::add:
      return simplify_add(a, b);
    case ScalarOp::sub:
      return simplify_sub(a, b);
    case ScalarOp::mul:
      return simplify_mul(a, b);
    case ScalarOp::div:
      return simplify_div(a, b);
    case ScalarOp::pow:
      return simplify_pow(a, b);
    case ScalarOp::min:
    case ScalarOp::max:
      return a == b ? Rewrite(a) : Rewrite();
    case ScalarOp::equal:
    case ScalarOp::less:
    case ScalarOp::less_equal:
      return simplify_comparison(op, a, b);
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
    case ScalarOp::logical_xor:
      return simplify_logic(op, a, b);
    case ScalarOp::select:
      return simplify_select(a, b, operands[2]);
    default:
      return {};
  }
}

std::optional<Scalar> simplify_cast(const Scalar& x, DataType to) {
  if (x.type() == to) return x;
  if (x.op() != ScalarOp::cast) return {};
  const DataType from = operand(x).type();
  if (!keeps_values(from, x.type())) return {};
  // Through a float, an integer would saturate where it wraps without.
  const bool saturates = is_integer(from) && is_float(x.type()) && is_integer(to) && !keeps_values(from, to);
  return saturates ? Rewrite() : Rewrite(Scalar::cast(operand(x), to));
}

}  // namespace arbalest
