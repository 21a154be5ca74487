// Where each buffer of an arena lies, given when it is alive.
//
// A lifetime covers the steps first..last, both included, of its lane. Invariant: two buffers that are alive at once
// never share a byte. Steps of different lanes (streams) are not ordered by their number, so lanes never share memory:
// each has its own contiguous part of the arena, and reuse never adds a wait. Offsets are multiples of
// kMemoryAlignment.
//
// Buffers are placed by decreasing size at the lowest free offset (greedy by size: Pisarchyk and Lee, "Efficient Memory
// Management for Deep Neural Net Inference", 2020), hence the arena is never larger than the sum of the buffers.
// Errors: internal for a lifetime that ends before it begins, device for sizes beyond the address space.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace arbalest {

inline constexpr size_t kMemoryAlignment = 64;  // a cache line and the widest vector

// The size rounded up to the alignment.
size_t aligned_bytes(size_t bytes);

struct Lifetime {
  size_t bytes = 0;
  int first = 0;  // the step that writes it
  int last = 0;   // the last step that touches it
  int lane = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // one for each lifetime, in the order given; 0 for a buffer of 0 bytes
  size_t bytes = 0;             // of the whole arena
};

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes);

// The most bytes alive at any step, lanes added up: no plan can be smaller.
size_t peak_alive_bytes(std::span<const Lifetime> lifetimes);

// Compares all pairs; throws an internal error that names the two buffers alive at once in the same bytes, or the one
// that is misaligned or outside the arena.
void verify_memory_plan(std::span<const Lifetime> lifetimes, const MemoryPlan& plan);

}  // namespace arbalest
