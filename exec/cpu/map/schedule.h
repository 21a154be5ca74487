// What a MapProgram runs: kernel calls over slots, and how each slot gets its address.
//
// A slot is an operand: a constant, an input, a register (a tile or a splat in the scratch memory) or the output. There
// are two ways through the output. Flat: tiles of consecutive elements, aligned to multiples of the tile, so that
// inputs which repeat within a tile have the same contents in each. By rows: tiles never cross the last (collapsed)
// axis, so that an input which is constant or contiguous along it needs no copy.
#pragma once

#include <vector>

#include "exec/cpu/map/kernels.h"
#include "exec/cpu/map/lowering.h"
#include "graph/host_tensor.h"

namespace arbalest::mapping {

struct Instruction {
  Kernel kernel = nullptr;
  Call call = {};  // with steps and operation; addresses and n are filled in
  int out = 0;
  std::array<int, 4> in = {0, 0, 0, 0};
};

// How an input is read.
enum class Access : uint8_t {
  scalar,    // one element: a splat, once a run
  periodic,  // repeats within a tile: copied once a run
  row,       // constant along a row: a splat, once a row
  direct,    // read in place
  expanded,  // copied into a tile each time
};

struct Input {
  Access access = Access::direct;
  int index = 0;
  size_t element_bytes = 0;
  Dims strides;  // over the collapsed axes
  int slot = 0;
};

struct ScratchSlot {
  int slot = 0;
  size_t offset = 0;
  size_t lane_bytes = 0;  // of a tile that repeats: it is read from the position within the tile; else 0
};

struct Schedule {
  int64_t count = 0;
  Dims dims;         // collapsed; never empty
  Dims inner_sizes;  // elements below one step of each axis
  bool by_rows = false;
  int64_t tile = 0;
  std::vector<Input> inputs;

  std::vector<Instruction> once_splat, once_tile;  // in this order
  std::vector<Instruction> per_row;                // on splats
  std::vector<Instruction> per_tile;

  int slot_count = 0;
  int output_slot = 0;
  size_t output_bytes = 0;  // of an element
  AlignedBytes constants;   // slot i is splat i
  int constant_count = 0;
  std::vector<ScratchSlot> scratch;
  size_t row_offsets = 0;  // in the scratch: one int64 for each input
  size_t scratch_bytes = 0;
};

Schedule make_schedule(std::vector<Value> values, const Dims& dims, std::span<const Dims> strides);

}  // namespace arbalest::mapping
