// How the elements of a tensor lie in memory: strides over outer blocks, and inner blocks as oneDNN and cuDNN use them.
//
// nChw8c of [N, C, H, W] is strides of N, C/8, H, W and one inner block of 8 of axis 1. Padding (C not a multiple of 8)
// is always zero, so that flat passes over parameters stay correct.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/types.h"

namespace arbalest {

struct Layout {
  Dims dims;                                    // logical sizes
  Dims padded_dims;                             // dims rounded up to the blocks
  Dims strides;                                 // in elements, of the axis or of its outer blocks
  std::vector<std::pair<int, int64_t>> blocks;  // inner blocks (axis, size), outermost first; innermost is contiguous

  static Layout row_major(const Dims& dims);
  // Axes from the slowest to the fastest: {0, 2, 3, 1} is channels last.
  static Layout permuted(const Dims& dims, const std::vector<int>& order);
  // Channels (axis 1) in blocks: nChw8c.
  static Layout channel_blocked(const Dims& dims, int64_t block);

  bool is_row_major() const;  // dense, no blocks; axes of size 1 do not matter
  bool has_padding() const { return dims != padded_dims; }
  int64_t elements() const;  // stored elements, padding included
  size_t bytes(DataType t) const { return static_cast<size_t>(elements()) * size_of(t); }
  std::string text() const;  // "nchw" style: "abcd", "acdb", "aBcd8b"
  // The same order of memory; strides of axes of size 1 do not matter.
  friend bool operator==(const Layout& a, const Layout& b);
};

}  // namespace arbalest
