// A scalar expression as a list of kernel calls in single assignment form: each value is an input, a constant or the
// result of one kernel over earlier values. Equal subexpressions are one value; common sequences are fused.
//
// Types map to formats of lanes: f16 and bf16 compute in f32, integers in i64 (uint64 in u64), booleans are masks of
// the width of what they were compared from. Integers shorter than 64 bits are computed without wrapping as long as
// only the low bits matter.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "exec/cpu/map/kernels.h"
#include "graph/scalar.h"

namespace arbalest::mapping {

struct Value {
  enum class Kind : uint8_t { input, constant, result };
  Kind kind = Kind::result;
  Format format = Format::f32;
  int input = -1;     // of an input
  uint64_t bits = 0;  // of a constant, in the lowest lane_bytes(format) bytes
  // Of a result:
  Kernel kernel = nullptr;
  ScalarOp op = ScalarOp::constant;  // constant: a conversion, copy or fused sequence
  std::array<int, 4> operands = {-1, -1, -1, -1};
  int operand_count = 0;
};

// Operands come before their users; the last value is the result, in the format of the element type of the expression.
std::vector<Value> lower(const Scalar& e);

}  // namespace arbalest::mapping
