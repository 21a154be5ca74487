// Runs the iterations of a task graph.
//
// launch() enqueues one iteration on all streams and returns; the host may be a few iterations ahead of the streams, so
// that they never wait for it. Launching allocates nothing and looks up nothing.
//
// Where the level changes from one iteration to the next, what orders tasks inside a level says nothing about those of
// another. In the first iteration of a level each task waits for the ends of the former one on the streams that have
// anything in conflict with it, so that everything before is behind it; later iterations come after it on its stream.
// All else overlaps as ever: a global synchronisation, say, and the next forward and backward.
//
// Errors: the first task that throws stops everything, the tasks that have not begun are skipped. The next launch() or
// synchronize() rethrows its error with the task's name in front; before, all streams have come to rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "exec/device.h"
#include "sync/task_graph.h"
#include "sync/trace.h"

namespace arbalest {

class TaskRunner {
 public:
  // The streams must outlive the runner. Iterations are numbered from `first_iteration`. `trace`, where there is one,
  // gets every task in the row of its stream's name.
  explicit TaskRunner(TaskGraph graph, int64_t first_iteration = 0, int iterations_ahead = 4, Trace* trace = nullptr);
  ~TaskRunner();  // waits for all streams, drops their errors
  TaskRunner(const TaskRunner&) = delete;
  TaskRunner& operator=(const TaskRunner&) = delete;

  void launch();
  void synchronize();
  int64_t next_iteration() const { return first_iteration_ + static_cast<int64_t>(launched_); }
  const TaskGraph& graph() const { return graph_; }

 private:
  void issue(const TaskCommand& command);
  void run_task(const Task& task, int64_t iteration);
  std::function<void(int64_t)> traced(const Task& task, Trace& trace);

  const TaskGraph graph_;
  std::vector<std::vector<TaskCommand>> commands_;       // of each level
  std::vector<std::vector<std::vector<int>>> before_;    // of each level and task: streams_before()
  std::vector<Work> work_;                               // of each task
  std::vector<std::unique_ptr<Event>> ended_;            // of each task that is waited for; iteration i sets i + 1
  std::vector<std::unique_ptr<Event>> iteration_ended_;  // of each stream
  const int64_t first_iteration_;
  const uint64_t ahead_;
  uint64_t launched_ = 0;  // iterations
  uint64_t known_ended_ = 0;
  int level_ = 0;             // of the last iteration
  uint64_t level_since_ = 0;  // iterations launched before the first on this level
  std::atomic<bool> failed_{false};
};

}  // namespace arbalest
