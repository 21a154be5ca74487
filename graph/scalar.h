// Scalar expressions: what a Map computes for each element.
//
// A Scalar is an immutable expression over numbered inputs. It is a DAG: equal subexpressions built twice compare equal
// and are computed once by the interpreter. Every node has an element type. Comparisons and logic give
// DataType::boolean. Arithmetic needs operands of one type (a plain C++ number adopts the type of the other operand);
// cast() converts.
//
// Gradient conventions (design section 10): Min and Max give each of two equal operands half; select passes to the
// branch taken; floor, ceil, round, sign, comparisons and casts to integers pass nothing; relu has slope 0 at 0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/types.h"

namespace arbalest {

enum class ScalarOp : uint8_t {
  input,
  constant,
  cast,
  // one operand
  neg,
  abs,
  sign,
  floor,
  ceil,
  round,  // round: half to even
  exp,
  log,
  log1p,
  expm1,
  sqrt,
  reciprocal,
  relu,
  sigmoid,
  tanh,
  erf,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  is_nan,
  is_inf,
  logical_not,
  bit_not,
  // two operands
  add,
  sub,
  mul,
  div,
  mod,
  fmod,
  pow,
  min,
  max,  // div of integers truncates; mod has the sign of the divisor, fmod of the dividend
  equal,
  less,
  less_equal,
  logical_and,
  logical_or,
  logical_xor,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  // three operands: condition (boolean), value if true, value if false
  select,
};

std::string_view name_of(ScalarOp op);
int operand_count(ScalarOp op);

class Scalar {
 public:
  static Scalar input(int index, DataType type);
  static Scalar constant(double value, DataType type);
  static Scalar constant(int64_t value, DataType type);
  // Type-checks the operands (internal error) and simplifies: constant folding, x*1, x+0, x*0 (floats too: a factor
  // that is exactly the constant 0 comes from a derivative), --x, select of a constant, pow 1 / 2 / 0.5 / -1, ...
  static Scalar make(ScalarOp op, std::vector<Scalar> operands);
  static Scalar cast(Scalar x, DataType to);

  ScalarOp op() const;
  DataType type() const;
  int input_index() const;        // of an input
  double value() const;           // of a constant
  int64_t integer_value() const;  // of a constant of integer or boolean type
  std::span<const Scalar> operands() const;
  size_t hash() const;
  size_t node_count() const;  // distinct nodes of the DAG, inputs and constants included
  bool is_constant() const { return op() == ScalarOp::constant; }
  const void* identity() const { return node_.get(); }  // same pointer, same node (for memoised walks)

  friend bool operator==(const Scalar& a, const Scalar& b);  // structural

 private:
  struct Node;
  std::shared_ptr<const Node> node_;
};

std::string to_string(const Scalar& e);  // "select(x0 < 0, 0.01 * x0, x0)"

// The expression with input i replaced by replacements[i]; used to fuse Maps.
Scalar substitute(const Scalar& e, std::span<const Scalar> replacements);
// The expression with every occurrence of `part` replaced by `by`.
Scalar replace(const Scalar& e, const Scalar& part, const Scalar& by);
// d e / d input(i), a Scalar over the same inputs, of the type of e; the constant 0 where nothing flows.
Scalar derivative(const Scalar& e, int input_index);
bool uses_input(const Scalar& e, int input_index);
// Value at given inputs, in double (integers up to 2^53 are exact); for folding and tests.
double evaluate(const Scalar& e, std::span<const double> inputs);

// Operators for writing expressions: select(x < 0, 0.01 * x, x). A number takes the type of the Scalar beside it.
Scalar operator+(const Scalar& a, const Scalar& b);
Scalar operator-(const Scalar& a, const Scalar& b);
Scalar operator*(const Scalar& a, const Scalar& b);
Scalar operator/(const Scalar& a, const Scalar& b);
Scalar operator-(const Scalar& a);
Scalar operator+(const Scalar& a, double b);
Scalar operator-(const Scalar& a, double b);
Scalar operator*(const Scalar& a, double b);
Scalar operator/(const Scalar& a, double b);
Scalar operator+(double a, const Scalar& b);
Scalar operator-(double a, const Scalar& b);
Scalar operator*(double a, const Scalar& b);
Scalar operator/(double a, const Scalar& b);
Scalar operator<(const Scalar& a, const Scalar& b);
Scalar operator<(const Scalar& a, double b);
Scalar operator<=(const Scalar& a, const Scalar& b);
Scalar operator<=(const Scalar& a, double b);
Scalar operator>(const Scalar& a, const Scalar& b);
Scalar operator>(const Scalar& a, double b);
Scalar operator>=(const Scalar& a, const Scalar& b);
Scalar operator>=(const Scalar& a, double b);
Scalar equal(const Scalar& a, const Scalar& b);
Scalar equal(const Scalar& a, double b);
Scalar operator!(const Scalar& a);
Scalar operator&&(const Scalar& a, const Scalar& b);
Scalar operator||(const Scalar& a, const Scalar& b);
Scalar select(const Scalar& condition, const Scalar& a, const Scalar& b);
Scalar select(const Scalar& condition, const Scalar& a, double b);
Scalar select(const Scalar& condition, double a, const Scalar& b);
Scalar min(const Scalar& a, const Scalar& b);
Scalar max(const Scalar& a, const Scalar& b);
Scalar pow(const Scalar& a, const Scalar& b);
Scalar pow(const Scalar& a, double b);
// One operand.
Scalar abs(const Scalar& x);
Scalar exp(const Scalar& x);
Scalar log(const Scalar& x);
Scalar sqrt(const Scalar& x);
Scalar reciprocal(const Scalar& x);
Scalar relu(const Scalar& x);
Scalar sigmoid(const Scalar& x);
Scalar tanh(const Scalar& x);
Scalar erf(const Scalar& x);
Scalar cast(const Scalar& x, DataType to);

}  // namespace arbalest
