#include "sync/task_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/base/error.h"
#include "sync/recording_device.h"

namespace arbalest {
namespace {

void nothing(int64_t) {}

// SMA of two learners, written by hand.
TaskGraph sma_of_two(Stream& a, Stream& b) {
  TaskGraph graph;
  const MemoryId w0 = graph.add_memory("w0", 64);
  const MemoryId w1 = graph.add_memory("w1", 64);
  const MemoryId z = graph.add_memory("z", 64);
  const MemoryId z_next = graph.add_memory("z next", 64);
  graph.alternate(z, z_next);
  graph.add({"average 0", &a, {{w0, 0, 32}, {w1, 0, 32}, {z, 0, 32}}, {{z_next, 0, 32}}, nothing});
  graph.add({"average 1", &b, {{w0, 32, 64}, {w1, 32, 64}, {z, 32, 64}}, {{z_next, 32, 64}}, nothing});
  graph.add({"update 0", &a, {graph.whole(z)}, {graph.whole(w0)}, nothing});
  graph.add({"update 1", &b, {graph.whole(z)}, {graph.whole(w1)}, nothing});
  return graph;
}

TEST(TaskGraph, PrintsTasksHazardsAndPrograms) {
  RecordingDevice device;
  const auto a = device.make_stream({.name = "learner 0"});
  const auto b = device.make_stream({.name = "learner 1"});
  EXPECT_EQ(to_text(sma_of_two(*a, *b)), R"(tasks
  0 'average 0' on learner 0
      reads w0[0..32], w1[0..32], z[0..32]
      writes z next[0..32]
  1 'average 1' on learner 1
      reads w0[32..64], w1[32..64], z[32..64]
      writes z next[32..64]
  2 'update 0' on learner 0
      reads z
      writes w0
  3 'update 1' on learner 1
      reads z
      writes w1
  z and z next alternate
hazards
  RAW 'average 0' of the last iteration -> 'average 0'
  WAR 'average 0' of the last iteration -> 'average 0'
  WAR 'average 0' -> 'update 0'
  RAW 'average 0' of the last iteration -> 'update 0'
  WAR 'average 0' -> 'update 1'
  RAW 'average 0' of the last iteration -> 'update 1'
  RAW 'average 1' of the last iteration -> 'average 1'
  WAR 'average 1' of the last iteration -> 'average 1'
  WAR 'average 1' -> 'update 0'
  RAW 'average 1' of the last iteration -> 'update 0'
  WAR 'average 1' -> 'update 1'
  RAW 'average 1' of the last iteration -> 'update 1'
  RAW 'update 0' of the last iteration -> 'average 0'
  WAR 'update 0' of the last iteration -> 'average 0'
  RAW 'update 0' of the last iteration -> 'average 1'
  WAR 'update 0' of the last iteration -> 'average 1'
  RAW 'update 1' of the last iteration -> 'average 0'
  WAR 'update 1' of the last iteration -> 'average 0'
  RAW 'update 1' of the last iteration -> 'average 1'
  WAR 'update 1' of the last iteration -> 'average 1'
programs
  learner 0
    wait for 'update 1' of the last iteration
    run 'average 0'
    record 'average 0'
    wait for 'average 1'
    run 'update 0'
    record 'update 0'
  learner 1
    wait for 'update 0' of the last iteration
    run 'average 1'
    record 'average 1'
    wait for 'average 0'
    run 'update 1'
    record 'update 1'
)");
}

TEST(TaskGraph, RefusesWhatDoesNotExist) {
  RecordingDevice device;
  const auto stream = device.make_stream({});
  TaskGraph graph;
  const MemoryId memory = graph.add_memory("weights", 64);
  EXPECT_THROW(graph.add({"t", stream.get(), {{memory, 0, 65}}, {}, nothing}), Error);
  EXPECT_THROW(graph.add({"t", stream.get(), {{memory, 8, 4}}, {}, nothing}), Error);
  EXPECT_THROW(graph.add({"t", stream.get(), {}, {{MemoryId(size_t{3}), 0, 4}}, nothing}), Error);
  EXPECT_THROW(graph.add({"t", nullptr, {}, {}, nothing}), Error);
  EXPECT_THROW(graph.add({"t", stream.get(), {}, {}, nullptr}), Error);
  EXPECT_THROW(graph.alternate(memory, memory), Error);
  EXPECT_THROW(graph.alternate(memory, graph.add_memory("small", 32)), Error);
}

}  // namespace
}  // namespace arbalest
