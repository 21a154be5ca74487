#include "exec/stream_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/base/error.h"
#include "tests/exec/random_tasks.h"

namespace arbalest {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using enum HazardKind;

constexpr size_t kIterations = 5;

// What streams and waits order, over a few iterations.
Reachability ordered(const std::vector<int>& streams, const std::vector<Wait>& waits) {
  const size_t n = streams.size();
  Reachability reach(n * kIterations);
  for (size_t i = 0; i < n * kIterations; ++i) {
    for (size_t j = i + 1; j < n * kIterations; ++j) {
      if (streams[i % n] == streams[j % n]) reach.add(i, j);
    }
  }
  for (const Wait& w : waits) {
    for (size_t t = 0; t + static_cast<size_t>(w.lag) < kIterations; ++t) {
      reach.add(t * n + static_cast<size_t>(w.from), (t + static_cast<size_t>(w.lag)) * n + static_cast<size_t>(w.to));
    }
  }
  reach.close();
  return reach;
}

// The first conflicting pair that is not ordered, or {0, 0}.
std::pair<size_t, size_t> unordered_conflict(const RandomIteration& iteration, const std::vector<Wait>& waits) {
  const size_t n = iteration.tasks.size();
  const Reachability reach = ordered(iteration.streams, waits);
  for (size_t i = 0; i < n * kIterations; ++i) {
    for (size_t j = i + 1; j < n * kIterations; ++j) {
      if (!reach.reaches(i, j) && conflict(accesses_at(iteration, i % n, static_cast<int>(i / n)),
                                           accesses_at(iteration, j % n, static_cast<int>(j / n)))) {
        return {i, j};
      }
    }
  }
  return {0, 0};
}

TEST(StreamOrder, RandomGraphsAreOrderedWithTheFewestWaits) {
  std::mt19937 random(5);
  const std::pair<size_t, size_t> none{0, 0};
  int waits_in_all = 0;
  for (int graph = 0; graph < 300; ++graph) {
    const RandomIteration iteration = random_iteration(random, 9);
    const std::vector<Wait> waits =
        stream_order(iteration.streams, loop_hazards(iteration.tasks, iteration.alternating));
    ASSERT_EQ(unordered_conflict(iteration, waits), none) << "graph " << graph;
    for (size_t i = 0; i < waits.size(); ++i) {
      std::vector<Wait> fewer = waits;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      ASSERT_NE(unordered_conflict(iteration, fewer), none) << "graph " << graph << ": wait " << i << " is needless";
    }
    waits_in_all += static_cast<int>(waits.size());
  }
  EXPECT_GT(waits_in_all, 300);  // the graphs are not trivial
}

TEST(StreamOrder, OneStreamNeedsNoWait) {
  EXPECT_THAT(stream_order(std::vector{0, 0, 0},
                           std::vector<Hazard>{
                               {0, 1, 0, read_after_write}, {1, 2, 0, read_after_write}, {2, 0, 1, write_after_read}}),
              IsEmpty());
}

TEST(StreamOrder, WaitsOnlyForTheLastOfAStream) {
  // Tasks 0 and 1 on stream 0, task 2 on stream 1 needs both.
  EXPECT_THAT(
      stream_order(std::vector{0, 0, 1}, std::vector<Hazard>{{0, 2, 0, read_after_write}, {1, 2, 0, read_after_write}}),
      ElementsAre(Wait{2, 1, 0}));
}

TEST(StreamOrder, LoopCarriedWaitFollowsFromOthers) {
  // 0 (stream 0) -> 1 (stream 1) -> 2 (stream 0): that 1 follows 1 of the iteration before is stream order, and that
  // 0 follows it goes through 2.
  EXPECT_THAT(stream_order(std::vector{0, 1, 0},
                           std::vector<Hazard>{
                               {0, 1, 0, read_after_write}, {1, 2, 0, read_after_write}, {1, 0, 1, write_after_read}}),
              ElementsAre(Wait{1, 0, 0}, Wait{2, 1, 0}));
}

TEST(StreamOrder, RefusesABackwardHazard) {
  EXPECT_THROW(stream_order(std::vector{0, 1}, std::vector<Hazard>{{1, 0, 0, read_after_write}}), Error);
}

}  // namespace
}  // namespace arbalest
