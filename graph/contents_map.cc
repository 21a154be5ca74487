#include "graph/contents_map.h"

#include <cmath>
#include <limits>

#include "graph/scalar_walk.h"

namespace arbalest {

namespace {

using Known = std::optional<Dim>;

constexpr double kExactFloat = 1 << 24;  // float32 holds every integer up to here

bool at_least(const Dim& d, int64_t least) {
  const auto bound = lower_bound(d);
  return bound && *bound >= least;
}

// For all symbols, or for none; none when it depends on them.
std::optional<bool> is_less_equal(const Dim& a, const Dim& b) {
  if (at_least(b - a, 0)) return true;
  if (at_least(a - b, 1)) return false;
  return std::nullopt;
}

std::optional<bool> is_less(const Dim& a, const Dim& b) {
  const auto reverse = is_less_equal(b, a);
  return reverse ? std::optional(!*reverse) : std::nullopt;
}

std::optional<bool> is_equal(const Dim& a, const Dim& b) {
  if (a == b) return true;
  if (is_less(a, b).value_or(false) || is_less(b, a).value_or(false)) return false;
  return std::nullopt;
}

Known from(std::optional<bool> b) { return b ? Known(*b ? 1 : 0) : std::nullopt; }

Known known_quotient(const Dim& a, const Dim& b, DataType type) {
  if (b == Dim(0)) return std::nullopt;
  const Dim q = floor_div(a, b);
  if (q * b == a) return q;
  if (is_float(type)) return std::nullopt;
  if (a.is_constant() && b.is_constant()) return a.value() / b.value();
  return at_least(a, 0) && at_least(b, 1) ? Known(q) : std::nullopt;
}

// With the sign of the divisor (mod) or of the dividend (fmod).
Known known_remainder(const Dim& a, const Dim& b, bool sign_of_dividend) {
  if (b == Dim(0)) return std::nullopt;
  if (!sign_of_dividend || (at_least(a, 0) && at_least(b, 1))) return a - floor_div(a, b) * b;
  if (a.is_constant() && b.is_constant()) return b == Dim(-1) ? 0 : a.value() % b.value();
  return std::nullopt;
}

Known cast_to(const Dim& d, DataType type) {
  if (type != DataType::boolean) return fits(d, type) ? Known(d) : std::nullopt;
  const auto zero = is_equal(d, 0);
  return zero ? Known(*zero ? 0 : 1) : std::nullopt;
}

Known known_constant(const Scalar& e) {
  if (!is_float(e.type())) return e.integer_value();
  return is_exact_integer(e.value()) ? Known(static_cast<int64_t>(e.value())) : std::nullopt;
}

// Operators that can be decided though an operand is unknown.
Known lazy(ScalarOp op, const std::vector<Known>& x) {
  if (op == ScalarOp::select) {
    if (!x[0] || !x[0]->is_constant()) return std::nullopt;
    return *x[0] == Dim(0) ? x[2] : x[1];
  }
  const Dim decides(op == ScalarOp::logical_or ? 1 : 0);  // whichever operand is this
  for (const Known& k : x) {
    if (k && *k == decides) return decides;
  }
  return x[0] && x[1] ? Known(Dim(1) - decides) : std::nullopt;
}

Known strict(const Scalar& e, const std::vector<Known>& x) {
  const Dim& a = *x[0];
  switch (e.op()) {
    case ScalarOp::cast:
      return cast_to(a, e.type());
    case ScalarOp::neg:
      return -a;
    case ScalarOp::abs:
      return greater(a, -a);
    case ScalarOp::sign:
      if (a.is_constant()) return (a.value() > 0) - (a.value() < 0);
      return at_least(a, 1) ? Known(1) : std::nullopt;
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round:
      return a;
    case ScalarOp::relu:
      return greater(a, 0);
    case ScalarOp::is_nan:
    case ScalarOp::is_inf:
      return 0;
    case ScalarOp::logical_not:
      return Dim(1) - a;
    case ScalarOp::add:
      return a + *x[1];
    case ScalarOp::sub:
      return a - *x[1];
    case ScalarOp::mul:
      return a * *x[1];
    case ScalarOp::div:
      return known_quotient(a, *x[1], e.type());
    case ScalarOp::mod:
      return known_remainder(a, *x[1], false);
    case ScalarOp::fmod:
      return known_remainder(a, *x[1], true);
    case ScalarOp::min:
      return lesser(a, *x[1]);
    case ScalarOp::max:
      return greater(a, *x[1]);
    case ScalarOp::equal:
      return from(is_equal(a, *x[1]));
    case ScalarOp::less:
      return from(is_less(a, *x[1]));
    case ScalarOp::less_equal:
      return from(is_less_equal(a, *x[1]));
    case ScalarOp::logical_xor:
      return from(is_equal(a + *x[1], 1));
    default:
      return std::nullopt;
  }
}

Known apply(const Scalar& e, std::span<const Dim> inputs, const std::vector<Known>& operands) {
  Known result;
  switch (e.op()) {
    case ScalarOp::input:
      return inputs[static_cast<size_t>(e.input_index())];
    case ScalarOp::constant:
      return known_constant(e);
    case ScalarOp::select:
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
      return lazy(e.op(), operands);
    default:
      for (const Known& k : operands) {
        if (!k) return std::nullopt;
      }
      result = strict(e, operands);
  }
  return result && fits(*result, e.type()) ? result : std::nullopt;
}

}  // namespace

SymbolicExpression::SymbolicExpression(const Scalar& expression) : root_(expression) {
  ScalarMap<size_t> position;
  for (const Scalar* e : post_order(root_)) {
    Step step{e, {}};
    for (const Scalar& operand : e->operands()) step.operands.push_back(position.at(operand.identity()));
    position[e->identity()] = steps_.size();
    steps_.push_back(std::move(step));
  }
}

std::optional<Dim> SymbolicExpression::evaluate(std::span<const Dim> inputs) const {
  std::vector<Known> values;
  std::vector<Known> operands;
  for (const Step& step : steps_) {
    operands.clear();
    for (const size_t i : step.operands) operands.push_back(values[i]);
    values.push_back(apply(*step.expression, inputs, operands));
  }
  return values.back();
}

std::optional<Dim> lesser(const Dim& a, const Dim& b) {
  if (at_least(b - a, 0)) return a;
  return at_least(a - b, 0) ? Known(b) : std::nullopt;
}

std::optional<Dim> greater(const Dim& a, const Dim& b) {
  const auto less = lesser(a, b);
  return less ? Known(*less == a ? b : a) : std::nullopt;
}

bool fits(const Dim& value, DataType type) {
  if (!value.is_constant()) {
    return is_float(type) || size_of(type) >= 4;  // sizes of tensors
  }
  const int64_t v = value.value();
  switch (type) {
    case DataType::f16:
      return std::abs(static_cast<double>(v)) <= 2048;
    case DataType::bf16:
      return std::abs(static_cast<double>(v)) <= 256;
    case DataType::f32:
      return is_exact_integer(static_cast<double>(v));
    case DataType::f64:
      return std::abs(static_cast<double>(v)) <= 0x1p53;
    case DataType::i8:
      return v == static_cast<int8_t>(v);
    case DataType::i16:
      return v == static_cast<int16_t>(v);
    case DataType::i32:
      return v == static_cast<int32_t>(v);
    case DataType::u8:
      return v == static_cast<uint8_t>(v);
    case DataType::u16:
      return v == static_cast<uint16_t>(v);
    case DataType::u32:
      return v == static_cast<uint32_t>(v);
    case DataType::u64:
      return v >= 0;
    case DataType::i64:
      return true;
    case DataType::boolean:
      return v == 0 || v == 1;
  }
  return false;
}

bool is_exact_integer(double value) { return std::abs(value) <= kExactFloat && std::trunc(value) == value; }

}  // namespace arbalest
