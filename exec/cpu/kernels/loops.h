// Nested loops over several operands, and how much work is worth a second thread.
//
// An Odometer walks through the flattened loops and knows each operand's offset; it starts anywhere, so that threads
// share the walk. Strides are in whatever unit the caller counts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/base/error.h"

namespace arbalest::cpu {

inline constexpr int64_t kElementsForThreads = 65536;
inline int threads_for(int threads, int64_t elements) { return elements >= kElementsForThreads ? threads : 1; }

template <size_t operands>
struct Loop {
  int64_t size = 1;
  std::array<int64_t, operands> strides{};
};

template <size_t operands>
using Loops = std::vector<Loop<operands>>;  // slow to fast

inline constexpr size_t kMaxLoops = 32;

template <size_t operands>
int64_t iterations(const Loops<operands>& loops) {
  int64_t n = 1;
  for (const Loop<operands>& l : loops) n *= l.size;
  return n;
}

// Drops loops of size 1 and joins neighbours that all operands walk through as one.
template <size_t operands>
void coalesce(Loops<operands>& loops) {
  Loops<operands> joined;
  for (const Loop<operands>& l : loops) {
    if (l.size == 1) continue;
    bool one = !joined.empty();
    for (size_t k = 0; one && k < operands; ++k) one = joined.back().strides[k] == l.strides[k] * l.size;
    if (one) {
      joined.back() = {joined.back().size * l.size, l.strides};
    } else {
      joined.push_back(l);
    }
  }
  if (joined.size() > kMaxLoops) {
    throw Error(ErrorKind::unsupported, "a tensor of more than {} axes that cannot be joined", kMaxLoops);
  }
  loops = std::move(joined);
}

template <size_t operands>
class Odometer {
 public:
  Odometer(const Loops<operands>& loops, int64_t position) : loops_(loops) {
    for (size_t i = loops.size(); i-- > 0;) {
      if (loops[i].size == 0) return;  // there is no position
      index_[i] = position % loops[i].size;
      position /= loops[i].size;
      for (size_t k = 0; k < operands; ++k) offsets_[k] += index_[i] * loops[i].strides[k];
    }
  }
  int64_t offset(size_t operand) const { return offsets_[operand]; }
  void advance() {
    for (size_t i = loops_.size(); i-- > 0;) {
      const Loop<operands>& l = loops_[i];
      for (size_t k = 0; k < operands; ++k) offsets_[k] += l.strides[k];
      if (++index_[i] < l.size) return;
      index_[i] = 0;
      for (size_t k = 0; k < operands; ++k) offsets_[k] -= l.size * l.strides[k];
    }
  }

 private:
  const Loops<operands>& loops_;
  std::array<int64_t, kMaxLoops> index_;  // of as many as there are loops
  std::array<int64_t, operands> offsets_{};
};

}  // namespace arbalest::cpu
