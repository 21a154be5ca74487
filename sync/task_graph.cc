#include "sync/task_graph.h"

#include <algorithm>

#include "exec/stream_order.h"
#include "graph/base/error.h"

namespace arbalest {
MemoryId TaskGraph::add_memory(const std::string& name, size_t bytes) {
  memories_.emplace_back(name, bytes);
  return MemoryId(memories_.size() - 1);
}

void TaskGraph::alternate(MemoryId a, MemoryId b) {
  ensure(a != b && bytes_of(a) == bytes_of(b), "task graph: '{}' and '{}' cannot alternate", name_of(a), name_of(b));
  alternating_.emplace_back(a, b);
}

void TaskGraph::add(Task task) {
  ensure(task.stream != nullptr && task.run != nullptr, "task '{}': needs a stream and a function", task.name);
  for (const std::vector<MemoryRange>* ranges : {&task.reads, &task.writes}) {
    for (const MemoryRange& range : *ranges) {
      ensure(range.memory && range.memory.at() < memories_.size() && range.begin <= range.end &&
                 range.end <= bytes_of(range.memory),
             "task '{}': range {}..{} of memory {} does not exist", task.name, range.begin, range.end,
             range.memory.index);
    }
  }
  auto known = std::find(streams_.begin(), streams_.end(), task.stream);
  if (known == streams_.end()) known = streams_.insert(streams_.end(), task.stream);
  stream_of_.push_back(static_cast<int>(known - streams_.begin()));
  highest_level_ = std::max(highest_level_, task.level);
  tasks_.push_back(std::move(task));
}

// Tasks that do not run touch nothing, hence are in no hazard.
std::vector<Hazard> TaskGraph::hazards(int level) const {
  std::vector<Accesses> accesses(tasks_.size());
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].level <= level) accesses[i] = {tasks_[i].reads, tasks_[i].writes};
  }
  return loop_hazards(accesses, alternating_);
}

std::vector<TaskCommand> compile(const TaskGraph& graph, int level) {
  std::vector<int> stream_of;
  for (size_t i = 0; i < graph.tasks().size(); ++i) stream_of.push_back(graph.stream_of(static_cast<int>(i)));
  const std::vector<Wait> waits = stream_order(stream_of, graph.hazards(level));
  std::vector<bool> waited_for(graph.tasks().size(), false);
  for (const Wait& wait : waits) waited_for[static_cast<size_t>(wait.from)] = true;

  std::vector<TaskCommand> commands;
  auto wait = waits.begin();  // sorted by the waiting task
  for (int task = 0; task < static_cast<int>(stream_of.size()); ++task) {
    const int stream = stream_of[static_cast<size_t>(task)];
    if (graph.tasks()[static_cast<size_t>(task)].level > level) continue;
    for (; wait != waits.end() && wait->to == task; ++wait) {
      commands.push_back({CommandKind::wait, stream, wait->from, wait->lag});
    }
    commands.push_back({CommandKind::run, stream, task, 0});
    if (waited_for[static_cast<size_t>(task)]) commands.push_back({CommandKind::record, stream, task, 0});
  }
  return commands;
}

}  // namespace arbalest
