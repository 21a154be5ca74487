// The vector loops of the Map interpreter: one kernel for each operation and format of lanes.
//
// A kernel reads up to four operands and writes n lanes. An operand with step 0 is the same for all lanes; it then
// points to kSplatLanes equal lanes, so that vector loads need no special case. The output may be an operand of the
// same lane size (each lane is read before it is written); otherwise they do not overlap. Nothing is read or written
// beyond lane n, except for splats.
//
// What an operation gives for NaN, infinities and overflow is defined by graph/scalar_value.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "graph/scalar.h"

namespace arbalest::mapping {

// How lanes are stored: the element types, and the results of comparisons as lanes of all ones or zeros, as wide as
// what was compared. Computation happens in f32, f64, i64, u64, mask32 and mask64.
enum class Format : uint8_t { f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, boolean, mask32, mask64 };

constexpr Format format_of(DataType t) { return static_cast<Format>(t); }
size_t lane_bytes(Format f);

inline constexpr size_t kSplatLanes = 32;  // two of the widest vectors of the narrowest computed lanes
inline constexpr size_t kSplatBytes = kSplatLanes * 8;

struct Call {
  void* out;
  std::array<const void*, 4> in;
  std::array<size_t, 4> step;  // 1, or 0 for a splat
  size_t n;
  ScalarOp op;  // for kernels that serve many
};

using Kernel = void (*)(const Call&);

// Sequences that are computed in one pass. mul_add may round once.
enum class Fusion : uint8_t {
  mul_add,       // a * b + c
  mul_sub,       // a * b - c
  neg_mul_add,   // c - a * b
  add_relu,      // relu(a + b)
  mul_add_relu,  // relu(a * b + c)
  sub_mul,       // (a - b) * c
  select_less,   // a < b ? c : d
};

// Operands and result have the format f (the result of a comparison: the mask of its width; the condition of a select
// as well). Null if there is none.
Kernel operation_kernel(ScalarOp op, Format f);
Kernel fusion_kernel(Fusion fusion, Format f);
Kernel conversion_kernel(Format from, Format to);
Kernel copy_kernel(Format f);

// The parts that operation_kernel and fusion_kernel are made of.
Kernel arithmetic_kernel(ScalarOp op, Format f);  // Highway: f32 and f64
Kernel math_kernel(ScalarOp op, Format f);        // Highway: f32 exp, log, ...
Kernel integer_kernel(ScalarOp op, Format f);     // i64, u64 and masks
Kernel reference_kernel(ScalarOp op, Format f);   // any, lane by lane with graph/scalar_value.h

}  // namespace arbalest::mapping
