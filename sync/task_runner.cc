#include "sync/task_runner.h"

#include <algorithm>
#include <exception>

namespace arbalest {

TaskRunner::TaskRunner(TaskGraph graph, int64_t first_iteration, int iterations_ahead, Trace* trace)
    : graph_(std::move(graph)),
      ended_(graph_.tasks().size()),
      first_iteration_(first_iteration),
      ahead_(static_cast<uint64_t>(std::max(iterations_ahead, 1))) {
  for (const Task& task : graph_.tasks()) {
    work_.push_back({task.name, [this, &task](int64_t iteration) { run_task(task, iteration); }});
    if (trace != nullptr) work_.back().run = traced(task, *trace);
  }
  for (int level = 0; level <= graph_.highest_level(); ++level) {
    commands_.push_back(compile(graph_, level));
    before_.push_back(streams_before(graph_, level));
    for (const TaskCommand& c : commands_.back()) {
      std::unique_ptr<Event>& event = ended_[static_cast<size_t>(c.task)];
      if (c.kind != CommandKind::record || event) continue;
      event = graph_.streams()[static_cast<size_t>(c.stream)]->device().make_event();
    }
  }
  for (Stream* stream : graph_.streams()) iteration_ended_.push_back(stream->device().make_event());
}

std::function<void(int64_t)> TaskRunner::traced(const Task& task, Trace& trace) {
  return [this, &task, &row = trace.row(task.stream->name()), &name = trace.keep(task.name)](int64_t iteration) {
    const Trace::Clock::time_point begin = Trace::Clock::now();
    run_task(task, iteration);
    row.add(name, iteration, begin, Trace::Clock::now());
  };
}

TaskRunner::~TaskRunner() {
  try {
    synchronize();
  } catch (...) {  // nobody is left to hear it
  }
}

void TaskRunner::launch() {
  if (failed_.load(std::memory_order_relaxed)) synchronize();
  if (launched_ - known_ended_ >= ahead_) {
    known_ended_ = launched_ - ahead_ / 2;  // half of it at once: fewer wakings of the host
    for (const auto& event : iteration_ended_) event->synchronize(known_ended_);
    if (failed_.load(std::memory_order_relaxed)) synchronize();
  }
  const int level = graph_.level_of(next_iteration());
  if (level != level_) {
    level_ = level;
    level_since_ = launched_;
  }
  for (const TaskCommand& command : commands_[static_cast<size_t>(level)]) issue(command);
  ++launched_;
  for (size_t i = 0; i < iteration_ended_.size(); ++i) graph_.streams()[i]->record(*iteration_ended_[i], launched_);
}

void TaskRunner::issue(const TaskCommand& command) {
  Stream& stream = *graph_.streams()[static_cast<size_t>(command.stream)];
  const auto task = static_cast<size_t>(command.task);
  switch (command.kind) {
    case CommandKind::wait: {
      const auto lag = static_cast<uint64_t>(command.lag);
      if (launched_ >= level_since_ + lag) stream.wait(*ended_[task], launched_ + 1 - lag);
      return;
    }
    case CommandKind::run:
      if (launched_ > 0 && launched_ == level_since_) {
        for (const int other : before_[static_cast<size_t>(level_)][task])
          stream.wait(*iteration_ended_[static_cast<size_t>(other)], launched_);
      }
      stream.run(work_[task], next_iteration());
      return;
    case CommandKind::record:
      stream.record(*ended_[task], launched_ + 1);
      return;
  }
}

void TaskRunner::run_task(const Task& task, int64_t iteration) {
  if (failed_.load(std::memory_order_relaxed)) return;
  try {
    task.run(iteration);
  } catch (...) {
    failed_.store(true, std::memory_order_relaxed);
    throw;
  }
}

void TaskRunner::synchronize() {
  std::exception_ptr failure;
  for (Stream* stream : graph_.streams()) {
    try {
      stream->synchronize();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  known_ended_ = launched_;
  failed_.store(false, std::memory_order_relaxed);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace arbalest
