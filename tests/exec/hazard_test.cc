#include "exec/hazard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/exec/random_tasks.h"

namespace arbalest {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using enum HazardKind;

const MemoryId kA(size_t{0});
const MemoryId kB(size_t{1});

std::vector<Hazard> once(const std::vector<Accesses>& tasks) {
  HazardTracker tracker;
  for (size_t i = 0; i < tasks.size(); ++i) tracker.add(static_cast<int>(i), tasks[i].reads, tasks[i].writes);
  return tracker.hazards();
}

TEST(Hazard, ThreeKinds) {
  const MemoryRange a{kA, 0, 8};
  EXPECT_THAT(once({{{}, {a}}, {{a}, {}}}), ElementsAre(Hazard{0, 1, 0, read_after_write}));
  EXPECT_THAT(once({{{a}, {}}, {{}, {a}}}), ElementsAre(Hazard{0, 1, 0, write_after_read}));
  EXPECT_THAT(once({{{}, {a}}, {{}, {a}}}), ElementsAre(Hazard{0, 1, 0, write_after_write}));
  EXPECT_THAT(once({{{a}, {}}, {{a}, {}}}), IsEmpty());
  EXPECT_THAT(once({{{}, {a}}, {{}, {{kB, 0, 8}}}}), IsEmpty());
}

TEST(Hazard, OnlyCommonBytesCount) {
  EXPECT_THAT(once({{{}, {{kA, 0, 8}}}, {{{kA, 8, 16}}, {}}}), IsEmpty());
  EXPECT_THAT(once({{{}, {{kA, 0, 8}}}, {{{kA, 7, 16}}, {}}}), ElementsAre(Hazard{0, 1, 0, read_after_write}));
  EXPECT_THAT(once({{{}, {{kA, 0, 8}}}, {{{kA, 4, 4}}, {}}}), IsEmpty());
  // Two writers of halves, one reader of the whole.
  EXPECT_THAT(once({{{}, {{kA, 0, 8}}}, {{}, {{kA, 8, 16}}}, {{{kA, 0, 16}}, {}}}),
              ElementsAre(Hazard{0, 2, 0, read_after_write}, Hazard{1, 2, 0, read_after_write}));
}

TEST(Hazard, UpdateReadsThenWrites) {
  const MemoryRange a{kA, 0, 8};
  EXPECT_THAT(once({{{a}, {a}}, {{a}, {a}}}), ElementsAre(Hazard{0, 1, 0, read_after_write}));
}

TEST(Hazard, LoopCarried) {
  const MemoryRange weights{kA, 0, 8};
  const MemoryRange gradients{kB, 0, 8};
  const std::vector<Accesses> learn_update = {{{weights}, {gradients}}, {{gradients, weights}, {weights}}};
  EXPECT_THAT(loop_hazards(learn_update),
              ElementsAre(Hazard{0, 1, 0, read_after_write}, Hazard{0, 1, 0, write_after_read},
                          Hazard{1, 0, 1, read_after_write}, Hazard{1, 0, 1, write_after_read},
                          Hazard{1, 1, 1, read_after_write}));
}

TEST(Hazard, DoubleBuffersAlternate) {
  // 0 reads the current buffer, 1 writes the next one: nothing within the iteration, both ways across it.
  const std::vector<Accesses> tasks = {{{{kA, 0, 8}}, {}}, {{}, {{kB, 0, 8}}}};
  const MemoryPair pair{kA, kB};
  EXPECT_THAT(loop_hazards(tasks, std::span(&pair, 1)),
              ElementsAre(Hazard{0, 1, 1, write_after_read}, Hazard{1, 0, 1, read_after_write}));
}

TEST(Hazard, ConflictsAreReachableAndHazardsAreConflicts) {
  std::mt19937 random(3);
  for (int graph = 0; graph < 400; ++graph) {
    const RandomIteration iteration = random_iteration(random, 14);
    const size_t n = iteration.tasks.size();
    Reachability reach(n);
    for (const Hazard& h : once(iteration.tasks)) {
      const Accesses& a = iteration.tasks[static_cast<size_t>(h.from)];
      const Accesses& b = iteration.tasks[static_cast<size_t>(h.to)];
      ASSERT_LT(h.from, h.to);
      EXPECT_TRUE(h.kind == read_after_write   ? any_overlap(a.writes, b.reads)
                  : h.kind == write_after_read ? any_overlap(a.reads, b.writes)
                                               : any_overlap(a.writes, b.writes));
      reach.add(static_cast<size_t>(h.from), static_cast<size_t>(h.to));
    }
    reach.close();
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = i + 1; j < n; ++j) {
        if (conflict(iteration.tasks[i], iteration.tasks[j])) {
          ASSERT_TRUE(reach.reaches(i, j)) << "graph " << graph << ": " << i << " -> " << j;
        }
      }
    }
  }
}

TEST(Hazard, LoopConflictsAreReachableOverManyIterations) {
  std::mt19937 random(4);
  constexpr int kIterations = 6;
  for (int graph = 0; graph < 300; ++graph) {
    const RandomIteration iteration = random_iteration(random, 10);
    const size_t n = iteration.tasks.size();
    Reachability reach(n * kIterations);
    for (const Hazard& h : loop_hazards(iteration.tasks, iteration.alternating)) {
      for (size_t t = 0; t + static_cast<size_t>(h.lag) < kIterations; ++t) {
        reach.add(t * n + static_cast<size_t>(h.from),
                  (t + static_cast<size_t>(h.lag)) * n + static_cast<size_t>(h.to));
      }
    }
    for (size_t i = 0; i + n < n * kIterations; ++i) reach.add(i, i + n);  // a task follows itself
    reach.close();
    for (size_t i = 0; i < n * kIterations; ++i) {
      for (size_t j = i + 1; j < n * kIterations; ++j) {
        const Accesses a = accesses_at(iteration, i % n, static_cast<int>(i / n));
        const Accesses b = accesses_at(iteration, j % n, static_cast<int>(j / n));
        if (conflict(a, b)) {
          ASSERT_TRUE(reach.reaches(i, j)) << "graph " << graph << ": " << i << " -> " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace arbalest
