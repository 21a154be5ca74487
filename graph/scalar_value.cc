#include "graph/scalar_value.h"

#include <cmath>
#include <limits>

#include "graph/base/error.h"
#include "graph/float16.h"
#include "graph/scalar_parts.h"

namespace arbalest {

namespace {

template <class T>
int64_t saturate(double x) {
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double kHigh = static_cast<double>(std::numeric_limits<T>::max());  // 2^63, 2^64 for the widest
  if (std::isnan(x)) return 0;
  if (x <= kLow) return static_cast<int64_t>(std::numeric_limits<T>::min());
  if (x >= kHigh) return static_cast<int64_t>(std::numeric_limits<T>::max());
  return static_cast<int64_t>(static_cast<T>(x));
}

int64_t truncate(double x, DataType to) {
  switch (to) {
    case DataType::i8:
      return saturate<int8_t>(x);
    case DataType::i16:
      return saturate<int16_t>(x);
    case DataType::i32:
      return saturate<int32_t>(x);
    case DataType::u8:
      return saturate<uint8_t>(x);
    case DataType::u16:
      return saturate<uint16_t>(x);
    case DataType::u32:
      return saturate<uint32_t>(x);
    case DataType::u64:
      return saturate<uint64_t>(x);
    default:
      return saturate<int64_t>(x);
  }
}

double sigmoid_of(double x) {
  const double e = std::exp(-std::fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// NaN wins, whichever operand it is.
double min_of(double a, double b) { return a < b || std::isnan(a) ? a : b; }
double max_of(double a, double b) { return a > b || std::isnan(a) ? a : b; }

double floored_mod(double a, double b) {
  const double m = std::fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

ScalarValue real(double x) { return {x, 0}; }
ScalarValue truth_value(bool x) { return {0, x ? 1 : 0}; }

ScalarValue apply_unary_real(ScalarOp op, double x) {
  switch (op) {
    case ScalarOp::neg:
      return real(-x);
    case ScalarOp::abs:
      return real(std::fabs(x));
    case ScalarOp::sign:
      return real(x > 0 ? 1 : x < 0 ? -1 : x);
    case ScalarOp::floor:
      return real(std::floor(x));
    case ScalarOp::ceil:
      return real(std::ceil(x));
    case ScalarOp::round:
      return real(std::nearbyint(x));
    case ScalarOp::exp:
      return real(std::exp(x));
    case ScalarOp::log:
      return real(std::log(x));
    case ScalarOp::log1p:
      return real(std::log1p(x));
    case ScalarOp::expm1:
      return real(std::expm1(x));
    case ScalarOp::sqrt:
      return real(std::sqrt(x));
    case ScalarOp::reciprocal:
      return real(1 / x);
    case ScalarOp::relu:
      return real(x < 0 ? 0 : x);
    case ScalarOp::sigmoid:
      return real(sigmoid_of(x));
    case ScalarOp::tanh:
      return real(std::tanh(x));
    case ScalarOp::erf:
      return real(std::erf(x));
    case ScalarOp::sin:
      return real(std::sin(x));
    case ScalarOp::cos:
      return real(std::cos(x));
    case ScalarOp::tan:
      return real(std::tan(x));
    case ScalarOp::asin:
      return real(std::asin(x));
    case ScalarOp::acos:
      return real(std::acos(x));
    case ScalarOp::atan:
      return real(std::atan(x));
    case ScalarOp::sinh:
      return real(std::sinh(x));
    case ScalarOp::cosh:
      return real(std::cosh(x));
    case ScalarOp::asinh:
      return real(std::asinh(x));
    case ScalarOp::acosh:
      return real(std::acosh(x));
    case ScalarOp::atanh:
      return real(std::atanh(x));
    case ScalarOp::is_nan:
      return truth_value(std::isnan(x));
    case ScalarOp::is_inf:
      return truth_value(std::isinf(x));
    default:
      throw Error(ErrorKind::internal, "{} of a float", name_of(op));
  }
}

ScalarValue apply_binary_real(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::add:
      return real(a + b);
    case ScalarOp::sub:
      return real(a - b);
    case ScalarOp::mul:
      return real(a * b);
    case ScalarOp::div:
      return real(a / b);
    case ScalarOp::mod:
      return real(floored_mod(a, b));
    case ScalarOp::fmod:
      return real(std::fmod(a, b));
    case ScalarOp::pow:
      return real(std::pow(a, b));
    case ScalarOp::min:
      return real(min_of(a, b));
    case ScalarOp::max:
      return real(max_of(a, b));
    case ScalarOp::equal:
      return truth_value(a == b);
    case ScalarOp::less:
      return truth_value(a < b);
    case ScalarOp::less_equal:
      return truth_value(a <= b);
    default:
      throw Error(ErrorKind::internal, "{} of floats", name_of(op));
  }
}

int64_t wrapping_negate(int64_t x) { return static_cast<int64_t>(0 - static_cast<uint64_t>(x)); }

int64_t wrapping_multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Towards zero.
int64_t integer_quotient(int64_t a, int64_t b, bool is_unsigned) {
  if (b == 0) return 0;
  if (is_unsigned) return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
  return b == -1 ? wrapping_negate(a) : a / b;
}

int64_t integer_remainder(int64_t a, int64_t b, bool is_unsigned) {
  if (b == 0) return 0;
  if (is_unsigned) return static_cast<int64_t>(static_cast<uint64_t>(a) % static_cast<uint64_t>(b));
  return b == -1 ? 0 : a % b;
}

int64_t floored_remainder(int64_t a, int64_t b, bool is_unsigned) {
  const int64_t r = integer_remainder(a, b, is_unsigned);
  return !is_unsigned && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// Truncated towards zero for negative exponents.
int64_t power(int64_t base, int64_t exponent, bool is_unsigned) {
  if (!is_unsigned && exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  int64_t result = 1;
  for (uint64_t e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    if (e & 1) result = wrapping_multiply(result, base);
    base = wrapping_multiply(base, base);
  }
  return result;
}

int64_t shift_right(int64_t a, uint64_t by, bool is_unsigned) {
  if (is_unsigned) return by >= 64 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) >> by);
  return a >> (by >= 64 ? 63 : by);
}

bool less_than(int64_t a, int64_t b, bool is_unsigned) {
  return is_unsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

int64_t apply_unary_integer(ScalarOp op, int64_t x, bool is_unsigned) {
  switch (op) {
    case ScalarOp::neg:
      return wrapping_negate(x);
    case ScalarOp::abs:
      return is_unsigned || x >= 0 ? x : wrapping_negate(x);
    case ScalarOp::sign:
      return is_unsigned ? x != 0 : (x > 0) - (x < 0);
    case ScalarOp::relu:
      return is_unsigned || x > 0 ? x : 0;
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round:
      return x;
    case ScalarOp::logical_not:
      return x == 0;
    case ScalarOp::bit_not:
      return ~x;
    case ScalarOp::is_nan:
    case ScalarOp::is_inf:
      return 0;
    default:
      throw Error(ErrorKind::internal, "{} of an integer", name_of(op));
  }
}

int64_t apply_binary_integer(ScalarOp op, int64_t a, int64_t b, bool is_unsigned) {
  switch (op) {
    case ScalarOp::add:
      return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case ScalarOp::sub:
      return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    case ScalarOp::mul:
      return wrapping_multiply(a, b);
    case ScalarOp::div:
      return integer_quotient(a, b, is_unsigned);
    case ScalarOp::mod:
      return floored_remainder(a, b, is_unsigned);
    case ScalarOp::fmod:
      return integer_remainder(a, b, is_unsigned);
    case ScalarOp::pow:
      return power(a, b, is_unsigned);
    case ScalarOp::min:
      return less_than(a, b, is_unsigned) ? a : b;
    case ScalarOp::max:
      return less_than(b, a, is_unsigned) ? a : b;
    case ScalarOp::equal:
      return a == b;
    case ScalarOp::less:
      return less_than(a, b, is_unsigned);
    case ScalarOp::less_equal:
      return !less_than(b, a, is_unsigned);
    case ScalarOp::logical_and:
    case ScalarOp::bit_and:
      return a & b;
    case ScalarOp::logical_or:
    case ScalarOp::bit_or:
      return a | b;
    case ScalarOp::logical_xor:
    case ScalarOp::bit_xor:
      return a ^ b;
    case ScalarOp::shift_left:
      return static_cast<uint64_t>(b) >= 64 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
    case ScalarOp::shift_right:
      return shift_right(a, static_cast<uint64_t>(b), is_unsigned);
    default:
      throw Error(ErrorKind::internal, "{} of integers", name_of(op));
  }
}

}  // namespace

int64_t wrap(int64_t value, DataType type) {
  switch (type) {
    case DataType::i8:
      return static_cast<int8_t>(value);
    case DataType::i16:
      return static_cast<int16_t>(value);
    case DataType::i32:
      return static_cast<int32_t>(value);
    case DataType::u8:
      return static_cast<uint8_t>(value);
    case DataType::u16:
      return static_cast<uint16_t>(value);
    case DataType::u32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

double round_to(double value, DataType type) {
  switch (type) {
    case DataType::f32:
      return static_cast<float>(value);
    case DataType::f16:
      return f32_from_f16(f16_from_f32(f32_round_to_odd(value)));
    case DataType::bf16:
      return f32_from_bf16(bf16_from_f32(f32_round_to_odd(value)));
    default:
      return value;
  }
}

double to_double(ScalarValue value, DataType type) {
  if (is_float(type)) return value.real;
  return type == DataType::u64 ? static_cast<double>(static_cast<uint64_t>(value.integer))
                               : static_cast<double>(value.integer);
}

ScalarValue convert(ScalarValue value, DataType from, DataType to) {
  if (from == to) return value;
  if (to == DataType::f32 && !is_float(from) && from != DataType::u64) return real(static_cast<float>(value.integer));
  if (to == DataType::f32 && from == DataType::u64)
    return real(static_cast<float>(static_cast<uint64_t>(value.integer)));
  if (is_float(to)) return real(round_to(to_double(value, from), to));
  if (to == DataType::boolean) return truth_value(is_float(from) ? value.real != 0 : value.integer != 0);
  if (is_float(from)) return {0, truncate(value.real, to)};
  return {0, wrap(value.integer, to)};
}

ScalarValue apply(ScalarOp op, DataType type, std::span<const ScalarValue> operands) {
  if (op == ScalarOp::select) return operands[0].integer != 0 ? operands[1] : operands[2];
  const bool unary = operands.size() == 1;
  if (is_float(type))
    return unary ? apply_unary_real(op, operands[0].real) : apply_binary_real(op, operands[0].real, operands[1].real);
  const bool no_sign = is_unsigned(type);
  const int64_t result = unary ? apply_unary_integer(op, operands[0].integer, no_sign)
                               : apply_binary_integer(op, operands[0].integer, operands[1].integer, no_sign);
  return {0, wrap(result, type)};
}

}  // namespace arbalest
