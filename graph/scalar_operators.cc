// The C++ operators and functions that build scalar expressions.
#include "graph/scalar.h"

namespace arbalest {

namespace {

Scalar unary(ScalarOp op, const Scalar& x) { return Scalar::make(op, {x}); }
Scalar binary(ScalarOp op, const Scalar& a, const Scalar& b) { return Scalar::make(op, {a, b}); }
Scalar number(double value, const Scalar& beside) { return Scalar::constant(value, beside.type()); }

}  // namespace

Scalar operator+(const Scalar& a, const Scalar& b) { return binary(ScalarOp::add, a, b); }
Scalar operator-(const Scalar& a, const Scalar& b) { return binary(ScalarOp::sub, a, b); }
Scalar operator*(const Scalar& a, const Scalar& b) { return binary(ScalarOp::mul, a, b); }
Scalar operator/(const Scalar& a, const Scalar& b) { return binary(ScalarOp::div, a, b); }
Scalar operator-(const Scalar& a) { return unary(ScalarOp::neg, a); }
Scalar operator+(const Scalar& a, double b) { return a + number(b, a); }
Scalar operator-(const Scalar& a, double b) { return a - number(b, a); }
Scalar operator*(const Scalar& a, double b) { return a * number(b, a); }
Scalar operator/(const Scalar& a, double b) { return a / number(b, a); }
Scalar operator+(double a, const Scalar& b) { return number(a, b) + b; }
Scalar operator-(double a, const Scalar& b) { return number(a, b) - b; }
Scalar operator*(double a, const Scalar& b) { return number(a, b) * b; }
Scalar operator/(double a, const Scalar& b) { return number(a, b) / b; }
Scalar operator<(const Scalar& a, const Scalar& b) { return binary(ScalarOp::less, a, b); }
Scalar operator<(const Scalar& a, double b) { return a < number(b, a); }
Scalar operator<=(const Scalar& a, const Scalar& b) { return binary(ScalarOp::less_equal, a, b); }
Scalar operator<=(const Scalar& a, double b) { return a <= number(b, a); }
Scalar operator>(const Scalar& a, const Scalar& b) { return b < a; }
Scalar operator>(const Scalar& a, double b) { return number(b, a) < a; }
Scalar operator>=(const Scalar& a, const Scalar& b) { return b <= a; }
Scalar operator>=(const Scalar& a, double b) { return number(b, a) <= a; }
Scalar equal(const Scalar& a, const Scalar& b) { return binary(ScalarOp::equal, a, b); }
Scalar equal(const Scalar& a, double b) { return equal(a, number(b, a)); }
Scalar operator!(const Scalar& a) { return unary(ScalarOp::logical_not, a); }
Scalar operator&&(const Scalar& a, const Scalar& b) { return binary(ScalarOp::logical_and, a, b); }
Scalar operator||(const Scalar& a, const Scalar& b) { return binary(ScalarOp::logical_or, a, b); }

Scalar select(const Scalar& condition, const Scalar& a, const Scalar& b) {
  return Scalar::make(ScalarOp::select, {condition, a, b});
}
Scalar select(const Scalar& condition, const Scalar& a, double b) { return select(condition, a, number(b, a)); }
Scalar select(const Scalar& condition, double a, const Scalar& b) { return select(condition, number(a, b), b); }

Scalar min(const Scalar& a, const Scalar& b) { return binary(ScalarOp::min, a, b); }
Scalar max(const Scalar& a, const Scalar& b) { return binary(ScalarOp::max, a, b); }
Scalar pow(const Scalar& a, const Scalar& b) { return binary(ScalarOp::pow, a, b); }
Scalar pow(const Scalar& a, double b) { return pow(a, number(b, a)); }
Scalar abs(const Scalar& x) { return unary(ScalarOp::abs, x); }
Scalar exp(const Scalar& x) { return unary(ScalarOp::exp, x); }
Scalar log(const Scalar& x) { return unary(ScalarOp::log, x); }
Scalar sqrt(const Scalar& x) { return unary(ScalarOp::sqrt, x); }
Scalar reciprocal(const Scalar& x) { return unary(ScalarOp::reciprocal, x); }
Scalar relu(const Scalar& x) { return unary(ScalarOp::relu, x); }
Scalar sigmoid(const Scalar& x) { return unary(ScalarOp::sigmoid, x); }
Scalar tanh(const Scalar& x) { return unary(ScalarOp::tanh, x); }
Scalar erf(const Scalar& x) { return unary(ScalarOp::erf, x); }
Scalar cast(const Scalar& x, DataType to) { return Scalar::cast(x, to); }

}  // namespace arbalest
