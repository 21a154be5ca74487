#include "sync/task_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "exec/cpu/cpu_device.h"
#include "graph/base/error.h"
#include "sync/recording_device.h"
#include "tests/exec/random_tasks.h"
#include "tests/sync/happens_before.h"

namespace arbalest {
namespace {

constexpr size_t kCells = 12;  // bytes of a memory in random_tasks.h, here cells
constexpr int kMemories = 6;
using Memory = std::vector<std::vector<uint64_t>>;

// What a task does: each cell that it writes becomes a hash of all that it reads. Any change of order shows in the end.
void compute(const Accesses& accesses, size_t task, int64_t iteration, Memory& memory) {
  uint64_t hash = task * 1000 + static_cast<uint64_t>(iteration);
  for (const MemoryRange& range : accesses.reads) {
    for (size_t i = range.begin; i < range.end; ++i) hash = (hash ^ memory[range.memory.at()][i]) * 0x9e3779b97f4a7c15u;
  }
  for (const MemoryRange& range : accesses.writes) {
    for (size_t i = range.begin; i < range.end; ++i) memory[range.memory.at()][i] = hash + i;
  }
}

// Ranges inside the cells.
void clip(std::vector<MemoryRange>& ranges) {
  for (MemoryRange& range : ranges) {
    range.end = std::min(range.end, kCells);
    range.begin = std::min(range.begin, range.end);
  }
}

// With levels for its tasks, and one for each iteration.
struct LeveledIteration : RandomIteration {
  std::vector<int> task_levels;
  std::vector<int> levels;
  bool runs(size_t task, int64_t t) const {
    return task_levels[task] <= levels[static_cast<size_t>(t) % levels.size()];
  }
};

LeveledIteration clipped_iteration(std::mt19937& random) {
  LeveledIteration iteration{random_iteration(random, 10), {}, {}};
  for (Accesses& task : iteration.tasks) {
    clip(task.reads);
    clip(task.writes);
  }
  const unsigned levels = 1 + random() % 3;
  for (size_t i = 0; i < iteration.tasks.size(); ++i) {
    iteration.task_levels.push_back(static_cast<int>(random() % levels));
  }
  for (int t = 0; t < 8; ++t) iteration.levels.push_back(static_cast<int>(random() % levels));
  return iteration;
}

// The graph of a random iteration; body(task, iteration) runs.
template <class Body>
TaskGraph make_graph(const LeveledIteration& iteration, const std::vector<std::unique_ptr<Stream>>& streams,
                     const Body& body) {
  TaskGraph graph;
  for (int m = 0; m < kMemories; ++m) graph.add_memory("m" + std::to_string(m), kCells);
  for (const auto& [a, b] : iteration.alternating) graph.alternate(a, b);
  for (size_t i = 0; i < iteration.tasks.size(); ++i) {
    graph.add({std::to_string(i), streams[static_cast<size_t>(iteration.streams[i])].get(), iteration.tasks[i].reads,
               iteration.tasks[i].writes, [=](int64_t t) { body(i, t); }, iteration.task_levels[i]});
  }
  graph.set_levels([levels = iteration.levels](int64_t t) { return levels[static_cast<size_t>(t) % levels.size()]; });
  return graph;
}

TEST(TaskRunner, RandomGraphsGiveWhatProgramOrderGives) {
  constexpr int64_t kIterations = 8;
  std::mt19937 random(21);
  CpuDevice device;
  std::vector<std::unique_ptr<Stream>> streams;
  for (int s = 0; s < 5; ++s) streams.push_back(device.make_stream({.name = "s" + std::to_string(s)}));
  for (int g = 0; g < 200; ++g) {
    const LeveledIteration iteration = clipped_iteration(random);
    Memory memory(kMemories, std::vector<uint64_t>(kCells, 1));
    Memory expected = memory;
    for (int64_t t = 0; t < kIterations; ++t) {
      for (size_t i = 0; i < iteration.tasks.size(); ++i) {
        if (iteration.runs(i, t)) compute(accesses_at(iteration, i, static_cast<int>(t)), i, t, expected);
      }
    }
    TaskRunner runner(make_graph(iteration, streams, [&](size_t i, int64_t t) {
      if ((i + static_cast<size_t>(t)) % 3 == 0) std::this_thread::yield();
      compute(accesses_at(iteration, i, static_cast<int>(t)), i, t, memory);
    }));
    for (int64_t t = 0; t < kIterations; ++t) runner.launch();
    runner.synchronize();
    ASSERT_EQ(memory, expected) << "graph " << g;
  }
}

TEST(TaskRunner, CommandsOrderEveryConflict) {
  constexpr int64_t kIterations = 5;
  std::mt19937 random(22);
  for (int g = 0; g < 200; ++g) {
    RecordingDevice device;
    std::vector<std::unique_ptr<Stream>> streams;
    for (int s = 0; s < 5; ++s) streams.push_back(device.make_stream({.name = "s" + std::to_string(s)}));
    const LeveledIteration iteration = clipped_iteration(random);
    {
      TaskRunner runner(make_graph(iteration, streams, [](size_t, int64_t) {}));
      for (int64_t t = 0; t < kIterations; ++t) runner.launch();
    }
    const HappensBefore before = happens_before(device.commands);
    size_t running = 0;
    for (int64_t t = 0; t < kIterations; ++t) {
      for (size_t i = 0; i < iteration.tasks.size(); ++i) running += iteration.runs(i, t);
    }
    ASSERT_EQ(before.size(), running);
    for (const auto& [a, unused] : before) {
      for (const auto& [b, ended_before_b] : before) {
        const size_t task_a = std::stoul(a.first), task_b = std::stoul(b.first);
        const bool a_first = a.second < b.second || (a.second == b.second && task_a < task_b);
        if (a_first && conflict(accesses_at(iteration, task_a, static_cast<int>(a.second)),
                                accesses_at(iteration, task_b, static_cast<int>(b.second)))) {
          ASSERT_TRUE(ended_before_b.count(a)) << "graph " << g << ": task " << a.first << " of " << a.second
                                               << " and task " << b.first << " of " << b.second;
        }
      }
    }
  }
}

// The streams for which this one waits.
std::set<std::string> waits_of(const std::vector<RecordedCommand>& commands, const std::string& stream) {
  std::map<int, std::string> recorded_by;
  std::set<std::string> waited_for;
  for (const RecordedCommand& c : commands) {
    if (c.kind == RecordedCommand::record) recorded_by[c.event] = c.stream;
    if (c.kind == RecordedCommand::wait && c.stream == stream) waited_for.insert(recorded_by[c.event]);
  }
  return waited_for;
}

// Where the level changes a task waits for the streams that touch what it touches, in any iteration, and no others.
TEST(TaskRunner, AChangeOfLevelOrdersOnlyWhatIsInConflict) {
  RecordingDevice device;
  std::vector<std::unique_ptr<Stream>> streams;
  for (const char* name : {"a", "b", "c", "d"}) streams.push_back(device.make_stream({.name = name}));
  TaskGraph graph;
  const MemoryId x = graph.add_memory("x", 8), y = graph.add_memory("y", 8), other = graph.add_memory("other", 8);
  graph.alternate(x, y);
  graph.add({"every", streams[0].get(), {graph.whole(x)}, {}, [](int64_t) {}, 0});
  graph.add({"sometimes", streams[1].get(), {}, {graph.whole(y)}, [](int64_t) {}, 1});
  graph.add({"reads too", streams[2].get(), {graph.whole(x)}, {}, [](int64_t) {}, 0});
  graph.add({"alone", streams[3].get(), {}, {graph.whole(other)}, [](int64_t) {}, 0});
  graph.set_levels([](int64_t t) { return t % 2 == 1 ? 1 : 0; });
  TaskRunner runner(std::move(graph));
  for (int i = 0; i < 7; ++i) runner.launch();
  EXPECT_THAT(waits_of(device.commands, "a"), testing::ElementsAre("b"));
  EXPECT_THAT(waits_of(device.commands, "b"), testing::ElementsAre("a", "c"));
  EXPECT_THAT(waits_of(device.commands, "c"), testing::ElementsAre("b"));
  EXPECT_THAT(waits_of(device.commands, "d"), testing::IsEmpty());
}

class TwoStreams : public testing::Test {
 protected:
  Task task(const std::string& name, int stream, std::vector<MemoryRange> reads, std::vector<MemoryRange> writes,
            std::function<void(int64_t)> run) {
    return {name, streams_[stream].get(), std::move(reads), std::move(writes), std::move(run)};
  }

  CpuDevice device_;
  std::unique_ptr<Stream> streams_[2] = {device_.make_stream({.name = "a"}), device_.make_stream({.name = "b"})};
};

TEST_F(TwoStreams, FailureStopsAllAndTheRunnerCanGoOn) {
  for (const int ahead : {1, 2, 4, 7}) {
    TaskGraph graph;
    const MemoryId box = graph.add_memory("box", 8);
    int64_t produced = 0;
    int64_t consumed = 0;
    bool fails = true;
    graph.add(task("produce", 0, {}, {graph.whole(box)}, [&](int64_t t) {
      if (fails && t == 105) throw std::runtime_error("no more");
      ++produced;
    }));
    graph.add(task("consume", 1, {graph.whole(box)}, {}, [&](int64_t) { ++consumed; }));
    TaskRunner runner(std::move(graph), 100, ahead);
    try {
      for (int i = 0; i < 1000; ++i) runner.launch();
      runner.synchronize();
      FAIL();
    } catch (const Error& e) {
      EXPECT_STREQ(e.what(), "produce: no more");
    }
    EXPECT_EQ(produced, 5);
    EXPECT_LE(consumed, 5);
    EXPECT_LE(runner.next_iteration(), 105 + 2 * ahead);
    fails = false;
    produced = consumed = 0;
    for (int i = 0; i < 50; ++i) runner.launch();
    EXPECT_NO_THROW(runner.synchronize());
    EXPECT_EQ(produced, 50);
    EXPECT_EQ(consumed, 50);
  }
}

TEST_F(TwoStreams, TheHostIsAFewIterationsAheadAtMost) {
  std::atomic<int64_t> ended{0};
  TaskGraph graph;
  graph.add(task("count", 0, {}, {}, [&](int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++ended;
  }));
  TaskRunner runner(std::move(graph), 0, 4);
  for (int64_t i = 0; i < 40; ++i) {
    runner.launch();
    EXPECT_LE(i + 1 - ended, 4);
  }
  runner.synchronize();
  EXPECT_EQ(ended, 40);
}

TEST_F(TwoStreams, DestructionWaitsAndDropsErrors) {
  std::atomic<int> ran{0};
  {
    TaskGraph graph;
    graph.add(task("slow", 0, {}, {}, [&](int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++ran;
      throw std::runtime_error("unheard");
    }));
    TaskRunner runner(std::move(graph));
    runner.launch();
  }
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace arbalest
