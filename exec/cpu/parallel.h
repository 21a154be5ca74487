// A loop over the threads of the calling learner.
//
// [0, n) is cut into one contiguous block a thread, the same blocks every time; fn(begin, end) computes one. The
// threads are those of libgomp, the runtime that oneDNN uses, so that a learner has one team; its C entry is called
// directly because a pragma would bring clang's own runtime. Called by one of such threads it runs serially. An
// exception of fn is rethrown here once all have ended (of several, the one of the lowest block). Allocates nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "exec/element_range.h"

namespace arbalest {

using ParallelBody = void (*)(void* context, int64_t begin, int64_t end);
void parallel_blocks(int threads, int64_t n, void* context, ParallelBody body);

template <class Fn>
void parallel_for(int threads, int64_t n, Fn&& fn) {
  if (n <= 0) return;
  if (threads <= 1 || n == 1) {
    fn(int64_t{0}, n);
    return;
  }
  using F = std::remove_reference_t<Fn>;
  parallel_blocks(threads, n, const_cast<void*>(static_cast<const void*>(std::addressof(fn))),
                  [](void* context, int64_t begin, int64_t end) { (*static_cast<F*>(context))(begin, end); });
}

// The same over flat arrays: the edges between threads are multiples of `multiple` elements, by default such that
// no two threads write a cache line of floats.
template <class Fn>
void parallel_for(int threads, ElementRange elements, Fn&& fn, int64_t multiple = kCacheLineFloats) {
  const int64_t units = (elements.size() + multiple - 1) / multiple;
  parallel_for(threads, units, [&](int64_t first, int64_t last) {
    fn(elements.begin + first * multiple, std::min(elements.end, elements.begin + last * multiple));
  });
}

}  // namespace arbalest
