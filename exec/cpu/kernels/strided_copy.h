// Copies elements of any type from one strided view to another of the same sizes.
//
// The loops are sorted so that writes run forward and joined where they can be; what is contiguous in both views is a
// memcpy, two axes that change places are copied in square tiles. Views must not overlap. Allocates only when made.
#pragma once

#include <cstddef>

#include "exec/cpu/kernels/loops.h"

namespace arbalest::cpu {

class StridedCopy {
 public:
  // Strides and offsets in elements: of the source (0) and the target (1).
  StridedCopy(size_t element_size, Loops<2> loops, int64_t from_offset = 0, int64_t to_offset = 0);

  void run(const void* from, void* to, int threads) const;
  const char* name() const;  // "memcpy", "transpose", "strided"

 private:
  enum class Form : uint8_t { run, transpose, strided };

  void run_inner(const std::byte* from, std::byte* to, int64_t begin, int64_t end) const;

  Form form_ = Form::run;
  size_t unit_ = 1;      // bytes moved at once
  int64_t count_ = 0;    // elements in all
  int64_t from_offset_;  // bytes
  int64_t to_offset_;
  Loops<2> outer_;  // in bytes, as are the two below
  Loop<2> row_;     // of transpose: the loop along which the source is contiguous
  Loop<2> inner_;
};

// Every element of a tensor set to the same bytes.
void fill(void* to, int64_t elements, const void* element, size_t element_size, int threads);

}  // namespace arbalest::cpu
