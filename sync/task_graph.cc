#include "sync/task_graph.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "exec/stream_order.h"
#include "graph/base/error.h"

namespace arbalest {
namespace {

// What the tasks of all levels read and write; the first memory of an alternating pair stands for both.
class Touched {
 public:
  explicit Touched(const TaskGraph& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.tasks().size(); ++i) {
      const int stream = graph.stream_of(static_cast<int>(i));
      for (const MemoryRange& r : graph.tasks()[i].reads) add(reads_, r, stream);
      for (const MemoryRange& r : graph.tasks()[i].writes) add(writes_, r, stream);
    }
  }
  // Adds the streams of tasks that are in conflict with this one.
  void conflicts_of(const Task& task, std::set<int>& streams) const {
    for (const MemoryRange& r : task.reads) find(writes_, r, streams);
    for (const MemoryRange& r : task.writes) find(writes_, r, streams);
    for (const MemoryRange& r : task.writes) find(reads_, r, streams);
  }

 private:
  using Ranges = std::map<MemoryId, std::vector<std::pair<MemoryRange, int>>>;  // with their streams

  MemoryRange merged(MemoryRange range) const {
    for (const auto& [a, b] : graph_.alternating())
      if (range.memory == b) range.memory = a;
    return range;
  }
  void add(Ranges& ranges, const MemoryRange& range, int stream) const {
    const MemoryRange r = merged(range);
    ranges[r.memory].emplace_back(r, stream);
  }
  void find(const Ranges& ranges, const MemoryRange& range, std::set<int>& streams) const {
    const MemoryRange r = merged(range);
    const auto of_memory = ranges.find(r.memory);
    if (of_memory == ranges.end()) return;
    for (const auto& [other, stream] : of_memory->second)
      if (overlap(r, other)) streams.insert(stream);
  }

  const TaskGraph& graph_;
  Ranges reads_, writes_;
};

}  // namespace

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

std::vector<std::vector<int>> streams_before(const TaskGraph& graph, int level) {
  const Touched touched(graph);
  std::vector<std::set<int>> waited_for(graph.streams().size());  // by each stream so far
  for (size_t s = 0; s < waited_for.size(); ++s) waited_for[s].insert(static_cast<int>(s));
  std::vector<std::vector<int>> result(graph.tasks().size());
  for (size_t i = 0; i < result.size(); ++i) {
    if (graph.tasks()[i].level > level) continue;
    std::set<int>& known = waited_for[static_cast<size_t>(graph.stream_of(static_cast<int>(i)))];
    std::set<int> streams;
    touched.conflicts_of(graph.tasks()[i], streams);
    std::set_difference(streams.begin(), streams.end(), known.begin(), known.end(), std::back_inserter(result[i]));
    known.merge(streams);
  }
  return result;
}

}  // namespace arbalest
