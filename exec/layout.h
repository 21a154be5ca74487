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
  // Axis 1 the fastest, the others in order: nhwc. Rank 2 at least.
  static Layout channels_last(const Dims& dims);
  // Channels (axis 1) in blocks: nChw8c.
  static Layout channel_blocked(const Dims& dims, int64_t block);

  // The elements lie as in a dense row-major tensor, whatever the description: nChw8c of [N, 8, 1, 1] does.
  bool is_row_major() const;
  bool is_permutation() const;  // dense and without blocks: `strides` are those of the axes
  bool has_padding() const { return dims != padded_dims; }
  int rank() const { return static_cast<int>(dims.size()); }
  std::vector<int> order() const;  // axes (their outer blocks) from the slowest to the fastest
  // The same order of axes and the same blocks for other sizes of the same rank, dense.
  Layout resized(const Dims& dims) const;

  // An index along an axis is a mixed-radix number over the outer and inner blocks; element (i, j, ...) lies at the sum
  // of digit * stride over all digits of all axes.
  struct Digit {
    int64_t size;
    int64_t stride;
    friend bool operator==(const Digit&, const Digit&) = default;
  };
  // Digits of the padded size, the outermost first; none has size 1, no two neighbours could be one.
  std::vector<Digit> digits(int axis) const;
  int64_t block_of(int axis) const;  // product of the inner blocks of an axis; 1 without

  int64_t elements() const;  // stored elements, padding included
  size_t bytes(DataType t) const { return static_cast<size_t>(elements()) * size_of(t); }
  std::string text() const;  // "nchw" style: "abcd", "acdb", "aBcd8b"
  // The same order of memory; strides of axes of size 1 do not matter.
  friend bool operator==(const Layout& a, const Layout& b);
};

}  // namespace arbalest
