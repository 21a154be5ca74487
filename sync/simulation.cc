#include "sync/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/base/error.h"

namespace arbalest {
namespace {

constexpr int64_t kHollowElements = 4096;

struct SimulatedStream {
  std::vector<const RecordedCommand*> commands;
  size_t next = 0;
  int device = 0;
  bool running = false;
  double left = 0;  // seconds of the running task at full speed
  SimulatedTask task;
};

class SimulatedRun {
 public:
  SimulatedRun(const std::vector<RecordedCommand>& commands, const SimulatedDevices& devices, const TaskCosts& cost)
      : slots_(devices.slots), cost_(cost) {
    std::map<std::string, size_t> index;
    for (const RecordedCommand& command : commands) {
      const auto [at, is_new] = index.emplace(command.stream, streams_.size());
      if (is_new) {
        streams_.emplace_back();
        streams_.back().device = devices.device_of.at(command.stream);
      }
      streams_[at->second].commands.push_back(&command);
    }
  }

  std::vector<SimulatedTask> run() {
    for (;;) {
      while (issue_all()) {
      }
      if (!advance()) break;
    }
    for (const SimulatedStream& stream : streams_) {
      if (stream.next < stream.commands.size())
        throw Error(ErrorKind::internal, "the simulated streams wait for each other");
    }
    return std::move(done_);
  }

 private:
  bool issue_all() {
    bool any = false;
    for (SimulatedStream& stream : streams_) {
      while (!stream.running && stream.next < stream.commands.size() && issue(stream)) any = true;
    }
    return any;
  }

  // False where the stream has to wait.
  bool issue(SimulatedStream& stream) {
    const RecordedCommand& command = *stream.commands[stream.next];
    switch (command.kind) {
      case RecordedCommand::wait:
        if (reached_[command.event] < command.value) return false;
        break;
      case RecordedCommand::record:
        reached_[command.event] = std::max(reached_[command.event], command.value);
        break;
      case RecordedCommand::run: {
        const TaskCost cost = cost_(command.work, static_cast<int64_t>(command.value));
        stream.task = {command.stream, command.work, static_cast<int64_t>(command.value), now_, 0, cost.place};
        stream.left = cost.seconds;
        stream.running = true;
        break;
      }
    }
    ++stream.next;
    return true;
  }

  // To the next end of a task; false where none runs.
  bool advance() {
    std::map<int, int> busy;
    for (const SimulatedStream& s : streams_) {
      if (s.running && s.task.place == TaskPlace::device) ++busy[s.device];
    }
    const auto rate = [&](const SimulatedStream& s) {
      return s.task.place == TaskPlace::link ? 1.0 : std::min(1.0, slots_ / busy[s.device]);
    };
    double step = std::numeric_limits<double>::infinity();
    for (const SimulatedStream& s : streams_) {
      if (s.running) step = std::min(step, s.left / rate(s));
    }
    if (step == std::numeric_limits<double>::infinity()) return false;
    now_ += step;
    for (SimulatedStream& s : streams_) {
      if (!s.running) continue;
      s.left -= step * rate(s);
      if (s.left > 1e-12) continue;
      s.running = false;
      s.task.end = now_;
      done_.push_back(s.task);
    }
    return true;
  }

  std::vector<SimulatedStream> streams_;
  std::map<int, uint64_t> reached_;  // by event
  const double slots_;
  const TaskCosts& cost_;
  double now_ = 0;
  std::vector<SimulatedTask> done_;
};

}  // namespace

std::vector<SimulatedTask> simulate(const std::vector<RecordedCommand>& commands, const SimulatedDevices& devices,
                                    const TaskCosts& cost) {
  return SimulatedRun(commands, devices, cost).run();
}

double arrays_of(const TaskGraph& tasks, const std::string& work, size_t array_bytes) {
  const auto task =
      std::find_if(tasks.tasks().begin(), tasks.tasks().end(), [&](const Task& t) { return t.name == work; });
  if (task == tasks.tasks().end()) throw Error(ErrorKind::internal, "no task is called '{}'", work);
  size_t bytes = 0;
  for (const auto* ranges : {&task->reads, &task->writes}) {
    for (const MemoryRange& range : *ranges) bytes += range.end - range.begin;
  }
  return static_cast<double>(bytes) / static_cast<double>(array_bytes);
}

HollowLearners::HollowLearners(const TrainerOptions& options, bool synchronising_stream)
    : optimiser_(options.optimiser, {}), collective_(make_local_collective()) {
  const auto new_array = [this] { return arrays_.emplace_back(kHollowElements).data(); };
  arrays_.reserve(static_cast<size_t>(options.devices) * static_cast<size_t>(options.learners) *
                  (3 + kMostOptimiserStates));
  learners_.parameters = kHollowElements;
  learners_.optimiser = &optimiser_;
  learners_.learning_rate = [](int64_t) { return 0.0; };
  for (int d = 0; d < options.devices; ++d) {
    DeviceLearners group;
    group.device = &device_;
    for (int j = 0; j < options.learners; ++j) {
      Learner learner;
      learner.worker = add_stream(fmt::format("device {} learner {}", d, j), d);
      learner.weights = new_array();
      learner.gradients = new_array();
      for (int s = 0; s < optimiser_.state_count(); ++s) learner.states[s] = new_array();
      learner.statistics = new_array();
      learner.forward_backward = [](int64_t) {};
      if (!synchronising_stream) group.synchronising.push_back(learner.worker);
      group.learners.push_back(std::move(learner));
    }
    if (synchronising_stream) group.synchronising = {add_stream(fmt::format("device {} synchronisation", d), d)};
    learners_.devices.push_back(std::move(group));
  }
  synchroniser_ = make_synchroniser(options, learners_, *collective_);
  TaskGraph tasks;
  synchroniser_->add_tasks(tasks);
  runner_ = std::make_unique<TaskRunner>(std::move(tasks));
}

StreamShare HollowLearners::add_stream(const std::string& name, int device) {
  StreamOptions stream;
  stream.name = name;
  streams_.push_back(device_.make_stream(stream));
  device_of_[name] = device;
  return {streams_.back().get(), 1};
}

std::vector<RecordedCommand> HollowLearners::record(int64_t iterations) {
  device_.commands.clear();
  for (int64_t i = 0; i < iterations; ++i) runner_->launch();
  runner_->synchronize();
  return std::move(device_.commands);
}

double HollowLearners::arrays_of(const std::string& work) const {
  return arbalest::arrays_of(tasks(), work, kHollowElements * sizeof(float));
}

}  // namespace arbalest
