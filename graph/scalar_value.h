// The value of one element, and what each ScalarOp does to it: the reference that constant folding, evaluate() and the
// backends agree with.
//
// Floats are computed in double and not rounded to their type, except by a cast. Integers wrap modulo 2^bits. What C++
// leaves undefined is defined: x / 0 and x mod 0 of integers are 0; a shift by the width or more gives 0 (-1 for
// negative numbers to the right); float to integer truncates and saturates, NaN becomes 0.
#pragma once

#include <cstdint>
#include <span>

#include "graph/scalar.h"

namespace arbalest {

struct ScalarValue {
  double real = 0;      // of a float type
  int64_t integer = 0;  // of an integer type (uint64: the same bits) or boolean (0, 1)
};

// Modulo 2^bits of an integer type.
int64_t wrap(int64_t value, DataType type);
// The nearest value of the float type, ties to even.
double round_to(double value, DataType type);

ScalarValue convert(ScalarValue value, DataType from, DataType to);
double to_double(ScalarValue value, DataType type);
// The operands have the type `type`; the condition of a select is boolean.
ScalarValue apply(ScalarOp op, DataType type, std::span<const ScalarValue> operands);

}  // namespace arbalest
