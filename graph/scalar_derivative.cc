// Forward-mode symbolic differentiation. The slope of an operation is expressed by its own result where that is
// possible (exp, tanh, sigmoid, ...), so that a gradient rule can read the output of a Map instead of its inputs.
#include <numbers>

#include "graph/scalar_parts.h"
#include "graph/scalar_walk.h"

namespace arbalest {

namespace {

using Slope = std::optional<Scalar>;  // nothing: 0

Slope sum_of(const Slope& a, const Slope& b) {
  if (!a || !b) return a ? a : b;
  return *a + *b;
}

Slope negate(const Slope& a) { return a ? Slope(-*a) : a; }

// `factor` times the slope, built only where the slope is not 0.
template <class F>
Slope scaled_slope(const Slope& a, F factor) {
  return a ? Slope(factor() * *a) : a;
}

Slope choose(const Scalar& condition, const Slope& a, const Slope& b) {
  if (!a && !b) return {};
  return select(condition, a ? *a : number(0, *b), b ? *b : number(0, *a));
}

// y = op(x): dy / dx.
Slope unary_slope(const Scalar& y, const Scalar& x) {
  switch (y.op()) {
    case ScalarOp::neg:
      return number(-1, x);
    case ScalarOp::abs:
      return make(ScalarOp::sign, x);
    case ScalarOp::exp:
      return y;
    case ScalarOp::log:
      return reciprocal(x);
    case ScalarOp::log1p:
      return reciprocal(x + 1);
    case ScalarOp::expm1:
      return y + 1;
    case ScalarOp::sqrt:
      return 0.5 / y;
    case ScalarOp::reciprocal:
      return -(y * y);
    case ScalarOp::relu:
      return select(y > 0, number(1, x), 0);
    case ScalarOp::sigmoid:
      return y * (1 - y);
    case ScalarOp::tanh:
      return 1 - y * y;
    case ScalarOp::erf:
      return 2 * std::numbers::inv_sqrtpi * exp(-(x * x));
    case ScalarOp::sin:
      return make(ScalarOp::cos, x);
    case ScalarOp::cos:
      return -make(ScalarOp::sin, x);
    case ScalarOp::tan:
      return y * y + 1;
    case ScalarOp::asin:  // (1 - x)(1 + x) is exact near 1 where 1 - x x is not
      return reciprocal(sqrt((1 - x) * (1 + x)));
    case ScalarOp::acos:
      return -reciprocal(sqrt((1 - x) * (1 + x)));
    case ScalarOp::atan:
      return reciprocal(x * x + 1);
    case ScalarOp::sinh:
      return make(ScalarOp::cosh, x);
    case ScalarOp::cosh:
      return make(ScalarOp::sinh, x);
    case ScalarOp::asinh:
      return reciprocal(sqrt(x * x + 1));
    case ScalarOp::acosh:
      return reciprocal(sqrt((x - 1) * (x + 1)));
    case ScalarOp::atanh:
      return reciprocal((1 - x) * (1 + x));
    default:
      return {};
  }
}

Slope product_slope(const Scalar& a, const Scalar& b, const Slope& da, const Slope& db) {
  if (a.identity() == b.identity()) return scaled_slope(da, [&] { return 2 * a; });
  return sum_of(scaled_slope(da, [&] { return b; }), scaled_slope(db, [&] { return a; }));
}

// d(a / b) = (da - y db) / b
Slope quotient_slope(const Scalar& y, const Scalar& b, const Slope& da, const Slope& db) {
  const Slope numerator = sum_of(da, negate(scaled_slope(db, [&] { return y; })));
  return numerator ? Slope(*numerator / b) : numerator;
}

// y = a - q b with a whole q.
Slope remainder_slope(const Scalar& y, const Scalar& a, const Scalar& b, const Slope& da, const Slope& db) {
  return sum_of(da, negate(scaled_slope(db, [&] { return make(ScalarOp::round, (a - y) / b); })));
}

// Where the exponent is 0 the power is constant, and where the base is 0 it stays 0: no NaN from 0 * inf.
Slope power_slope(const Scalar& y, const Scalar& a, const Scalar& b, const Slope& da, const Slope& db) {
  const auto by_base = [&] { return select(equal(b, 0), 0, b * pow(a, b - 1)); };
  const auto by_exponent = [&] { return select(equal(a, 0) && b >= 0, 0, y * log(a)); };
  return sum_of(scaled_slope(da, by_base), scaled_slope(db, by_exponent));
}

// Two equal operands get half each. `first` holds where a is taken, `second` where b is.
Slope extremum_slope(const Scalar& first, const Scalar& second, const Slope& da, const Slope& db) {
  const Slope both = sum_of(da, db);
  return choose(first, da, choose(second, db, scaled_slope(both, [&] { return number(0.5, *both); })));
}

Slope binary_slope(const Scalar& y, const Scalar& a, const Scalar& b, const Slope& da, const Slope& db) {
  switch (y.op()) {
    case ScalarOp::add:
      return sum_of(da, db);
    case ScalarOp::sub:
      return sum_of(da, negate(db));
    case ScalarOp::mul:
      return product_slope(a, b, da, db);
    case ScalarOp::div:
      return quotient_slope(y, b, da, db);
    case ScalarOp::mod:
    case ScalarOp::fmod:
      return remainder_slope(y, a, b, da, db);
    case ScalarOp::pow:
      return power_slope(y, a, b, da, db);
    case ScalarOp::min:
      return extremum_slope(a < b, b < a, da, db);
    case ScalarOp::max:
      return extremum_slope(b < a, a < b, da, db);
    default:
      return {};
  }
}

}  // namespace

Scalar derivative(const Scalar& e, int input_index) {
  ScalarMap<Slope> slopes;
  for (const Scalar* node : post_order(e)) {
    const Scalar& y = *node;
    Slope& dy = slopes[y.identity()];
    if (!is_float(y.type())) continue;
    const auto slope_of = [&](size_t i) { return slopes.at(y.operands()[i].identity()); };
    if (y.op() == ScalarOp::input) {
      if (y.input_index() == input_index) dy = number(1, y);
    } else if (y.op() == ScalarOp::cast) {
      if (const Slope dx = slope_of(0)) dy = cast(*dx, y.type());
    } else if (y.op() == ScalarOp::select) {
      dy = choose(y.operands()[0], slope_of(1), slope_of(2));
    } else if (y.operands().size() == 1) {
      const Slope dx = slope_of(0);
      if (const Slope slope = dx ? unary_slope(y, y.operands()[0]) : Slope()) dy = *slope * *dx;
    } else if (y.operands().size() == 2) {
      const Slope da = slope_of(0), db = slope_of(1);
      if (da || db) dy = binary_slope(y, y.operands()[0], y.operands()[1], da, db);
    }
  }
  const Slope& result = slopes.at(e.identity());
  return result ? *result : number(0, e);
}

}  // namespace arbalest
