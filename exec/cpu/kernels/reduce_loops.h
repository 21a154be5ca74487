// The innermost loops of Reduce for one element type and one kind: functions on accumulators.
//
// Accumulators of float sums, means and products are double, of integer ones 64 bits wide (results are modulo 2^n), of
// max and min the element type; a NaN wins both. The order of the operations depends on the sizes alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/primitives/reduce.h"

namespace arbalest::cpu {

inline constexpr size_t kMaxAccumulatorBytes = 8;

struct ReduceLoops {
  size_t accumulator_bytes = 0;
  // accumulators[0, n) become the neutral element.
  void (*start)(int64_t n, void* accumulators) = nullptr;
  // accumulators[0] takes `rows` rows of n contiguous elements, `stride` elements apart.
  void (*rows)(const void* in, int64_t rows, int64_t stride, int64_t n, void* accumulators) = nullptr;
  // accumulators[j] takes element j of each row, j < n.
  void (*columns)(const void* in, int64_t rows, int64_t stride, int64_t n, void* accumulators) = nullptr;
  // accumulators[j] takes partial[j].
  void (*combine)(const void* partial, int64_t n, void* accumulators) = nullptr;
  // out[j] = result of accumulators[j], which has seen `count` elements.
  void (*finish)(const void* accumulators, int64_t n, int64_t count, void* out) = nullptr;
};

// Unsupported error for 16-bit floats, and for sums and products of bool.
ReduceLoops reduce_loops(Reduction kind, DataType type);

// The two hot functions of float and double, compiled for each instruction set.
struct VectorLoops {
  decltype(ReduceLoops::rows) rows;
  decltype(ReduceLoops::columns) columns;
};
VectorLoops vector_reduce_loops(Reduction kind, bool is_double);

}  // namespace arbalest::cpu
