// Nothing allocates while a step runs. Every allocation of the process is seen here; those that oneDNN makes inside its
// own library (it builds a map of arguments at each execution) are told apart by the caller's address and counted
// alone.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "data/batch_loader.h"
#include "tests/data_sets/examples.h"
#include "tests/trainer/small_models.h"

extern "C" void* __libc_malloc(size_t);
extern "C" void* __libc_memalign(size_t, size_t);
extern "C" void __libc_free(void*);

namespace {

std::atomic<bool> watching{false};
std::atomic<size_t> seen{0};
std::array<std::atomic<void*>, 1 << 16> callers;

void note(void* caller) {
  if (!watching.load(std::memory_order_relaxed)) return;
  const size_t i = seen.fetch_add(1);
  if (i < callers.size()) callers[i] = caller;
}

void* checked(void* p) {
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

#define CALLER __builtin_return_address(0)
void* operator new(size_t size) {
  note(CALLER);
  return checked(__libc_malloc(size ? size : 1));
}
void* operator new[](size_t size) {
  note(CALLER);
  return checked(__libc_malloc(size ? size : 1));
}
void* operator new(size_t size, std::align_val_t alignment) {
  note(CALLER);
  return checked(__libc_memalign(static_cast<size_t>(alignment), size));
}
void operator delete(void* p) noexcept { __libc_free(p); }
void operator delete[](void* p) noexcept { __libc_free(p); }
void operator delete(void* p, size_t) noexcept { __libc_free(p); }
void operator delete[](void* p, size_t) noexcept { __libc_free(p); }
void operator delete(void* p, std::align_val_t) noexcept { __libc_free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { __libc_free(p); }

namespace arbalest {
namespace {

// Allocations of our own code in 100 iterations, after 20 to warm up.
void expect_no_allocation(const std::string& name, Dims input, SyncKind sync) {
  const SmallModel model = small_model(name, std::move(input), 10);
  TrainerOptions options;
  options.learners = 2;
  options.sync = sync;
  options.optimiser.momentum = 0.9;
  Trainer trainer(model.training, model.batch(2), cpu::kernel_set(), options, stream_loader(2, 2, 10));
  trainer.run(20);
  seen = 0;
  watching = true;
  trainer.run(100);
  watching = false;
  ASSERT_LE(seen, callers.size()) << "more allocations than can be told apart";
  size_t ours = 0, library = 0;
  for (size_t i = 0; i < seen; ++i) {
    Dl_info info{};
    const bool known = dladdr(callers[i], &info) != 0 && info.dli_fname != nullptr;
    (known && std::strstr(info.dli_fname, "libdnnl") ? library : ours) += 1;
  }
  EXPECT_EQ(ours, 0u) << name;
  testing::Test::RecordProperty(name + "_allocations_inside_onednn", static_cast<int>(library));
}

TEST(StepPath, AllocatesNothing) {
  expect_no_allocation("mlp", {1, 28, 28}, SyncKind::sma);
  expect_no_allocation("lenet", {1, 28, 28}, SyncKind::sma);
  expect_no_allocation("lenet", {1, 28, 28}, SyncKind::ssgd);
  expect_no_allocation("resnet8", {3, 8, 8}, SyncKind::none);
}

TEST(StepPath, LoadingBatchesAllocatesNothing) {
  const Dataset d = numbered(50, 50);
  BatchLoader loader(d, no_normalisation(d), {2, 8, 1, 0, 2});
  const auto take = [&loader](int batches) {
    for (int t = 0; t < batches; ++t) {
      for (int learner = 0; learner < 2; ++learner) {
        loader.next(learner);
        loader.release(learner);
      }
    }
  };
  take(1);
  seen = 0;
  watching = true;
  take(200);
  watching = false;
  EXPECT_EQ(seen, 0u);
}

TEST(StepPath, TheCounterSeesAllocations) {
  seen = 0;
  watching = true;
  delete new int(7);
  std::vector<double> some(100);
  watching = false;
  EXPECT_GE(seen, 1u);
  EXPECT_EQ(some.size(), 100u);
}

}  // namespace
}  // namespace arbalest
