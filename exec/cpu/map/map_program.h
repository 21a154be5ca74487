// The Map interpreter: an expression over tensors with broadcasting, computed tile by tile.
//
// compile() turns an expression and the shapes it runs over into a list of vector loops (kernels.h) over tiles of a few
// KiB that stay in the first-level cache. Inputs that lie as the output does are read in place; what is the same for
// all elements, or repeats within a tile (a channel vector under channels-last), is computed once a run. A MapProgram
// is immutable; copies share it.
//
// Each element is computed alone, so any division into ranges gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/scalar.h"
#include "graph/types.h"

namespace arbalest {

namespace mapping {
struct Schedule;
}

class MapProgram {
 public:
  int64_t element_count() const;
  // Memory that run() needs, at an address divisible by 64.
  size_t scratch_bytes() const;
  // Ranges that begin at multiples of it waste nothing.
  int64_t grain() const;
  // Kernel calls a tile; for reports.
  size_t instruction_count() const;

  // Elements [begin, end) of the output, counted in row-major order. inputs[i] points to the element that belongs to
  // output element 0. The output may be the same memory as an input that has its strides and element size; it must not
  // overlap inputs otherwise. Allocates nothing.
  void run(std::span<const void* const> inputs, void* output, int64_t begin, int64_t end, void* scratch) const;

 private:
  friend MapProgram compile(const Scalar& e, const Dims& dims, std::span<const Dims> strides);
  explicit MapProgram(std::shared_ptr<const mapping::Schedule> schedule) : schedule_(std::move(schedule)) {}
  std::shared_ptr<const mapping::Schedule> schedule_;
};

// dims: of the output, which is dense and row-major (in the order of its memory: for a blocked or channels-last layout
// the axes as they lie). strides[i]: of input i in elements, one for each of dims, 0 where it is broadcast. Integer
// constants and elements follow graph/scalar_value.h; f16 and bf16 are computed in f32.
MapProgram compile(const Scalar& e, const Dims& dims, std::span<const Dims> strides);

// Strides of a dense row-major input under NumPy broadcasting to dims.
Dims broadcast_strides(const Dims& input, const Dims& dims);

}  // namespace arbalest
