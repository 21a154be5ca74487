#include "tests/data_sets/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<uint64_t> allocations = 0;

void* counted(void* p) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

uint64_t arbalest::allocation_count() { return allocations; }

void* operator new(size_t size) { return counted(std::malloc(size > 0 ? size : 1)); }
void* operator new(size_t size, std::align_val_t alignment) {
  const auto a = static_cast<size_t>(alignment);
  return counted(std::aligned_alloc(a, (size + a - 1) / a * a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
