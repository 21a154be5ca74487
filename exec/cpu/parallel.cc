#include "exec/cpu/parallel.h"

#include <atomic>
#include <exception>
#include <limits>

// libgomp: the entry that `#pragma omp parallel` compiles to, and two functions of omp.h, which clang does not have.
extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming)
void GOMP_parallel(void (*fn)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num();
int omp_get_num_threads();
}

namespace arbalest {
namespace {

struct Loop {
  int64_t n;
  void* context;
  ParallelBody body;
  std::exception_ptr failure{};
  int64_t failed_block = std::numeric_limits<int64_t>::max();
  std::atomic_flag failure_lock{};
  // Fork and join are ordered by libgomp already. These say it again in terms that ThreadSanitizer sees.
  std::atomic<bool> begun{false};
  std::atomic<int> ended{0};
};

void keep_failure(Loop& loop, int64_t block) {
  while (loop.failure_lock.test_and_set(std::memory_order_acquire)) {
  }
  if (block < loop.failed_block) {
    loop.failed_block = block;
    loop.failure = std::current_exception();
  }
  loop.failure_lock.clear(std::memory_order_release);
}

void run_block(void* data) {
  Loop& loop = *static_cast<Loop*>(data);
  loop.begun.load(std::memory_order_acquire);
  const int part = omp_get_thread_num();
  const ElementRange block = part_of({0, loop.n}, part, omp_get_num_threads());
  try {
    if (block.begin < block.end) loop.body(loop.context, block.begin, block.end);
  } catch (...) {
    keep_failure(loop, part);
  }
  loop.ended.fetch_add(1, std::memory_order_release);
}

}  // namespace

void parallel_blocks(int threads, int64_t n, void* context, ParallelBody body) {
  Loop loop{n, context, body};
  loop.begun.store(true, std::memory_order_release);
  GOMP_parallel(run_block, &loop, static_cast<unsigned>(std::min<int64_t>(threads, n)), 0);
  loop.ended.load(std::memory_order_acquire);
  if (loop.failure) std::rethrow_exception(loop.failure);
}

}  // namespace arbalest
