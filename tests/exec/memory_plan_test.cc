#include "exec/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "graph/base/error.h"

namespace arbalest {
namespace {

std::vector<Lifetime> random_lifetimes(std::mt19937& random) {
  const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int steps = 1 + upto(40);
  const int lanes = 1 + upto(3);
  std::vector<Lifetime> lifetimes(static_cast<size_t>(upto(60)));
  for (Lifetime& l : lifetimes) {
    l.bytes = upto(8) == 0 ? 0 : static_cast<size_t>(1 + upto(upto(2) ? 300 : 5000));
    l.first = upto(steps);
    l.last = l.first + upto(steps - l.first);
    l.lane = upto(lanes);
  }
  return lifetimes;
}

size_t sum_of(const std::vector<Lifetime>& lifetimes) {
  size_t sum = 0;
  for (const Lifetime& l : lifetimes) sum += aligned_bytes(l.bytes);
  return sum;
}

TEST(MemoryPlan, RandomLifetimesNeverOverlap) {
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    const std::vector<Lifetime> lifetimes = random_lifetimes(random);
    const MemoryPlan plan = plan_memory(lifetimes);
    ASSERT_NO_THROW(verify_memory_plan(lifetimes, plan)) << "graph " << i;
    EXPECT_LE(plan.bytes, sum_of(lifetimes)) << "graph " << i;
    EXPECT_GE(plan.bytes, peak_alive_bytes(lifetimes)) << "graph " << i;
  }
}

// Two buffers of one lane that are alive together are moved onto each other: the verifier must notice every time.
TEST(MemoryPlan, VerifierCatchesEveryWrongPlan) {
  std::mt19937 random(2);
  int broken = 0;
  while (broken < 300) {
    const std::vector<Lifetime> lifetimes = random_lifetimes(random);
    if (lifetimes.size() < 2) continue;
    const size_t a = random() % lifetimes.size();
    const size_t b = random() % lifetimes.size();
    const bool together = lifetimes[a].lane != lifetimes[b].lane ||
                          (lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last);
    if (a == b || !together || lifetimes[a].bytes == 0 || lifetimes[b].bytes == 0) continue;
    MemoryPlan plan = plan_memory(lifetimes);
    plan.offsets[a] = plan.offsets[b];
    plan.bytes += aligned_bytes(lifetimes[a].bytes);
    EXPECT_THROW(verify_memory_plan(lifetimes, plan), Error);
    ++broken;
  }
}

TEST(MemoryPlan, VerifierCatchesMisalignedAndOutside) {
  const std::vector<Lifetime> lifetimes = {{100, 0, 1}, {100, 2, 3}};
  EXPECT_THROW(verify_memory_plan(lifetimes, {{32, 0}, 256}), Error);
  EXPECT_THROW(verify_memory_plan(lifetimes, {{0, 64}, 128}), Error);
  EXPECT_THROW(verify_memory_plan(lifetimes, {{0}, 128}), Error);
  EXPECT_NO_THROW(verify_memory_plan(lifetimes, {{0, 0}, 128}));
}

TEST(MemoryPlan, ReusesWhatIsDead) {
  const std::vector<Lifetime> chain = {{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}};
  EXPECT_EQ(plan_memory(chain).bytes, 2048u);
  EXPECT_EQ(peak_alive_bytes(chain), 2048u);
}

TEST(MemoryPlan, LanesShareNothing) {
  const std::vector<Lifetime> lifetimes = {{64, 0, 0, 0}, {64, 5, 5, 1}};
  EXPECT_EQ(plan_memory(lifetimes).bytes, 128u);
  EXPECT_THROW(verify_memory_plan(lifetimes, {{0, 0}, 64}), Error);
}

TEST(MemoryPlan, FillsTheLowestGap) {
  // The two small buffers fit below the large ones that live before and after.
  const std::vector<Lifetime> lifetimes = {{640, 0, 0}, {640, 3, 3}, {64, 0, 3}, {64, 1, 2}};
  const MemoryPlan plan = plan_memory(lifetimes);
  EXPECT_EQ(plan.offsets, (std::vector<size_t>{0, 0, 640, 0}));
  EXPECT_EQ(plan.bytes, 704u);
}

TEST(MemoryPlan, EmptyAndAbsurd) {
  EXPECT_EQ(plan_memory({}).bytes, 0u);
  EXPECT_THROW(plan_memory(std::vector<Lifetime>{{1, 3, 2}}), Error);
  EXPECT_THROW(plan_memory(std::vector<Lifetime>{{SIZE_MAX, 0, 0}}), Error);
  EXPECT_THROW(plan_memory(std::vector<Lifetime>{{SIZE_MAX / 2, 0, 0}, {SIZE_MAX / 2 + 1, 0, 0}}), Error);
}

}  // namespace
}  // namespace arbalest
