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

// Block `part` of `parts` of [0, n): the blocks' sizes are multiples of `multiple` (but for the last) and differ by at
// most one multiple.
struct Block {
  int64_t begin = 0;
  int64_t end = 0;
};
inline Block block_of(int64_t n, int64_t part, int64_t parts, int64_t multiple = 1) {
  const int64_t units = (n + multiple - 1) / multiple;
  const auto edge = [&](int64_t p) { return std::min(n, (units / parts * p + std::min(p, units % parts)) * multiple); };
  return {edge(part), edge(part + 1)};
}

}  // namespace arbalest
