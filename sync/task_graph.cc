#include "sync/task_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "exec/stream_order.h"
#include "graph/base/error.h"

namespace arbalest {
namespace {

std::string to_text(const TaskGraph& graph, const std::vector<MemoryRange>& ranges) {
  std::string text;
  for (const MemoryRange& range : ranges) {
    if (!text.empty()) text += ", ";
    text += graph.name_of(range.memory);
    if (range != graph.whole(range.memory)) text += fmt::format("[{}..{}]", range.begin, range.end);
  }
  return text;
}

std::string ago(int lag) {
  return lag == 0 ? "" : lag == 1 ? " of the last iteration" : fmt::format(" of {} iterations ago", lag);
}

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
  tasks_.push_back(std::move(task));
}

std::vector<Hazard> TaskGraph::hazards() const {
  std::vector<Accesses> accesses;
  accesses.reserve(tasks_.size());
  for (const Task& task : tasks_) accesses.push_back({task.reads, task.writes});
  return loop_hazards(accesses, alternating_);
}

std::vector<TaskCommand> compile(const TaskGraph& graph) {
  std::vector<int> stream_of;
  for (size_t i = 0; i < graph.tasks().size(); ++i) stream_of.push_back(graph.stream_of(static_cast<int>(i)));
  const std::vector<Wait> waits = stream_order(stream_of, graph.hazards());
  std::vector<bool> waited_for(graph.tasks().size(), false);
  for (const Wait& wait : waits) waited_for[static_cast<size_t>(wait.from)] = true;

  std::vector<TaskCommand> commands;
  auto wait = waits.begin();  // sorted by the waiting task
  for (int task = 0; task < static_cast<int>(stream_of.size()); ++task) {
    const int stream = stream_of[static_cast<size_t>(task)];
    for (; wait != waits.end() && wait->to == task; ++wait) {
      commands.push_back({CommandKind::wait, stream, wait->from, wait->lag});
    }
    commands.push_back({CommandKind::run, stream, task, 0});
    if (waited_for[static_cast<size_t>(task)]) commands.push_back({CommandKind::record, stream, task, 0});
  }
  return commands;
}

std::string to_text(const TaskGraph& graph) {
  const std::vector<Task>& tasks = graph.tasks();
  const auto name = [&](int task) { return tasks[static_cast<size_t>(task)].name; };
  std::string text = "tasks\n";
  for (size_t i = 0; i < tasks.size(); ++i) {
    text += fmt::format("  {} '{}' on {}\n", i, tasks[i].name, tasks[i].stream->name());
    if (!tasks[i].reads.empty()) text += fmt::format("      reads {}\n", to_text(graph, tasks[i].reads));
    if (!tasks[i].writes.empty()) text += fmt::format("      writes {}\n", to_text(graph, tasks[i].writes));
  }
  for (const auto& [a, b] : graph.alternating()) {
    text += fmt::format("  {} and {} alternate\n", graph.name_of(a), graph.name_of(b));
  }
  text += "hazards\n";
  for (const Hazard& h : graph.hazards()) {
    text += fmt::format("  {} '{}'{} -> '{}'\n", name_of(h.kind), name(h.from), ago(h.lag), name(h.to));
  }
  text += "programs\n";
  const std::vector<TaskCommand> commands = compile(graph);
  for (size_t stream = 0; stream < graph.streams().size(); ++stream) {
    text += fmt::format("  {}\n", graph.streams()[stream]->name());
    for (const TaskCommand& c : commands) {
      if (c.stream != static_cast<int>(stream)) continue;
      const char* verb = c.kind == CommandKind::wait ? "wait for" : c.kind == CommandKind::run ? "run" : "record";
      text += fmt::format("    {} '{}'{}\n", verb, name(c.task), ago(c.lag));
    }
  }
  return text;
}

}  // namespace arbalest
