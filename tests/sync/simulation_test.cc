// Simulated times follow from the durations by arithmetic that can be done by hand.
#include "sync/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/base/error.h"

namespace arbalest {
namespace {

RecordedCommand run_of(const std::string& stream, const std::string& work) {
  return {RecordedCommand::run, stream, work, 0, 0};
}
RecordedCommand record_of(const std::string& stream, int event, uint64_t value) {
  return {RecordedCommand::record, stream, "", event, value};
}
RecordedCommand wait_of(const std::string& stream, int event, uint64_t value) {
  return {RecordedCommand::wait, stream, "", event, value};
}

// The seconds of a task are its name's length.
TaskCost by_length(const std::string& work, int64_t) { return {static_cast<double>(work.size()), TaskPlace::device}; }

std::map<std::string, double> ends_of(const std::vector<SimulatedTask>& tasks) {
  std::map<std::string, double> ends;
  for (const SimulatedTask& task : tasks) ends[task.work] = task.end;
  return ends;
}

TEST(Simulation, StreamsKeepTheirOrderAndWait) {
  const std::vector<RecordedCommand> commands = {run_of("a", "11"), record_of("a", 0, 1), run_of("a", "333"),
                                                 wait_of("b", 0, 1), run_of("b", "4444")};
  const auto tasks = simulate(commands, {{{"a", 0}, {"b", 1}}, 1}, by_length);
  EXPECT_EQ(ends_of(tasks), (std::map<std::string, double>{{"11", 2}, {"333", 5}, {"4444", 6}}));
}

TEST(Simulation, TasksBeyondTheSlotsShareTheirDevice) {
  const std::vector<RecordedCommand> commands = {run_of("a", "1"), run_of("b", "333"), run_of("c", "22")};
  const std::map<std::string, int> devices{{"a", 0}, {"b", 0}, {"c", 1}};
  // Side by side at half speed until the short one ends at 2; the long one has then 2 s of 3 left.
  EXPECT_EQ(ends_of(simulate(commands, {devices, 1}, by_length)),
            (std::map<std::string, double>{{"1", 2}, {"22", 2}, {"333", 4}}));
  EXPECT_EQ(ends_of(simulate(commands, {devices, 2}, by_length)),
            (std::map<std::string, double>{{"1", 1}, {"22", 2}, {"333", 3}}));
  const auto on_link = [](const std::string& work, int64_t) {
    return TaskCost{static_cast<double>(work.size()), work == "1" ? TaskPlace::link : TaskPlace::device};
  };
  EXPECT_EQ(ends_of(simulate(commands, {devices, 1}, on_link)),
            (std::map<std::string, double>{{"1", 1}, {"22", 2}, {"333", 3}}));
}

TEST(Simulation, AWaitWithoutARecordIsAnError) {
  EXPECT_THROW(simulate({wait_of("a", 0, 1), run_of("a", "1")}, {{{"a", 0}}, 1}, by_length), Error);
}

// Milliseconds of an iteration of 2 devices with 2 learners each, in the long run.
double iteration_of(SyncKind sync, double all_reduce) {
  TrainerOptions options;
  options.devices = options.learners = 2;
  options.sync = sync;
  HollowLearners hollow(options, true);
  constexpr int64_t kIterations = 50;
  const auto tasks =
      simulate(hollow.record(kIterations), {hollow.device_of(), 3}, [&](const std::string& work, int64_t) {
        const std::string category = category_of(work);
        if (category == "learn") return TaskCost{10, TaskPlace::device};
        if (category == "update") return TaskCost{1, TaskPlace::device};
        if (category == "all-reduce") return TaskCost{all_reduce, TaskPlace::link};
        return TaskCost{0.5, TaskPlace::device};
      });
  // From the end of an early iteration, so that filling the pipeline does not count.
  double early = 0, last = 0;
  for (const SimulatedTask& task : tasks) {
    if (category_of(task.work) != "update") continue;
    if (task.iteration == 9) early = std::max(early, task.end);
    last = std::max(last, task.end);
  }
  return (last - early) / (kIterations - 10);
}

TEST(Simulation, SmaHidesItsAllReduceAndSsgdDoesNot) {
  EXPECT_NEAR(iteration_of(SyncKind::sma, 5), 11, 0.01);  // learn, update
  EXPECT_NEAR(iteration_of(SyncKind::sma, 0), 11, 0.01);
  EXPECT_NEAR(iteration_of(SyncKind::ssgd, 5) - iteration_of(SyncKind::ssgd, 0), 5, 0.01);
  EXPECT_GT(iteration_of(SyncKind::sma, 40), 40);  // the link is the bottleneck
}

TEST(Simulation, ArraysThatATaskMoves) {
  TrainerOptions options;
  options.learners = 4;
  options.sync = SyncKind::sma;
  options.optimiser.momentum = 0.9;
  const HollowLearners hollow(options, false);
  // Reads gradients and z; writes weights and the momentum.
  EXPECT_DOUBLE_EQ(hollow.arrays_of("update 3"), 4);
  // A quarter of: four learners' weights, z, the next z.
  EXPECT_DOUBLE_EQ(hollow.arrays_of("average 0"), 6.0 / 4);
}

}  // namespace
}  // namespace arbalest
