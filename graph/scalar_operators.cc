// The C++ operators and functions that build scalar expressions.
#include "graph/scalar_parts.h"

namespace arbalest {

Scalar operator+(const Scalar& a, const Scalar& b) { return make(ScalarOp::add, a, b); }
Scalar operator-(const Scalar& a, const Scalar& b) { return make(ScalarOp::sub, a, b); }
Scalar operator*(const Scalar& a, const Scalar& b) { return make(ScalarOp::mul, a, b); }
Scalar operator/(const Scalar& a, const Scalar& b) { return make(ScalarOp::div, a, b); }
Scalar operator-(const Scalar& a) { return make(ScalarOp::neg, a); }
Scalar operator+(const Scalar& a, double b) { return a + number(b, a); }
Scalar operator-(const Scalar& a, double b) { return a - number(b, a); }
Scalar operator*(const Scalar& a, double b) { return a * number(b, a); }
Scalar operator/(const Scalar& a, double b) { return a / number(b, a); }
Scalar operator+(double a, const Scalar& b) { return number(a, b) + b; }
Scalar operator-(double a, const Scalar& b) { return number(a, b) - b; }
Scalar operator*(double a, const Scalar& b) { return number(a, b) * b; }
Scalar operator/(double a, const Scalar& b) { return number(a, b) / b; }
Scalar operator<(const Scalar& a, const Scalar& b) { return make(ScalarOp::less, a, b); }
Scalar operator<(const Scalar& a, double b) { return a < number(b, a); }
Scalar operator<=(const Scalar& a, const Scalar& b) { return make(ScalarOp::less_equal, a, b); }
Scalar operator<=(const Scalar& a, double b) { return a <= number(b, a); }
Scalar operator>(const Scalar& a, const Scalar& b) { return b < a; }
Scalar operator>(const Scalar& a, double b) { return number(b, a) < a; }
Scalar operator>=(const Scalar& a, const Scalar& b) { return b <= a; }
Scalar operator>=(const Scalar& a, double b) { return number(b, a) <= a; }
Scalar equal(const Scalar& a, const Scalar& b) { return make(ScalarOp::equal, a, b); }
Scalar equal(const Scalar& a, double b) { return equal(a, number(b, a)); }
Scalar operator!(const Scalar& a) { return make(ScalarOp::logical_not, a); }
Scalar operator&&(const Scalar& a, const Scalar& b) { return make(ScalarOp::logical_and, a, b); }
Scalar operator||(const Scalar& a, const Scalar& b) { return make(ScalarOp::logical_or, a, b); }

Scalar select(const Scalar& condition, const Scalar& a, const Scalar& b) {
  return Scalar::make(ScalarOp::select, {condition, a, b});
}
Scalar select(const Scalar& condition, const Scalar& a, double b) { return select(condition, a, number(b, a)); }
Scalar select(const Scalar& condition, double a, const Scalar& b) { return select(condition, number(a, b), b); }

Scalar min(const Scalar& a, const Scalar& b) { return make(ScalarOp::min, a, b); }
Scalar max(const Scalar& a, const Scalar& b) { return make(ScalarOp::max, a, b); }
Scalar pow(const Scalar& a, const Scalar& b) { return make(ScalarOp::pow, a, b); }
Scalar pow(const Scalar& a, double b) { return pow(a, number(b, a)); }
Scalar abs(const Scalar& x) { return make(ScalarOp::abs, x); }
Scalar exp(const Scalar& x) { return make(ScalarOp::exp, x); }
Scalar log(const Scalar& x) { return make(ScalarOp::log, x); }
Scalar sqrt(const Scalar& x) { return make(ScalarOp::sqrt, x); }
Scalar reciprocal(const Scalar& x) { return make(ScalarOp::reciprocal, x); }
Scalar relu(const Scalar& x) { return make(ScalarOp::relu, x); }
Scalar sigmoid(const Scalar& x) { return make(ScalarOp::sigmoid, x); }
Scalar tanh(const Scalar& x) { return make(ScalarOp::tanh, x); }
Scalar erf(const Scalar& x) { return make(ScalarOp::erf, x); }
Scalar cast(const Scalar& x, DataType to) { return Scalar::cast(x, to); }

}  // namespace arbalest
