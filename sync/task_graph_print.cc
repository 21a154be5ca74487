#include <fmt/format.h>

#include "sync/task_graph.h"

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

// Where some iterations do not run the task.
std::string when(const Task& task) { return task.level == 0 ? "" : fmt::format(", from level {} on", task.level); }

// What each stream does in an iteration of a level.
std::string programs(const TaskGraph& graph, int level) {
  std::string text = graph.highest_level() == 0 ? "programs\n" : fmt::format("programs of level {}\n", level);
  const std::vector<TaskCommand> commands = compile(graph, level);
  for (size_t stream = 0; stream < graph.streams().size(); ++stream) {
    text += fmt::format("  {}\n", graph.streams()[stream]->name());
    for (const TaskCommand& c : commands) {
      if (c.stream != static_cast<int>(stream)) continue;
      const char* verb = c.kind == CommandKind::wait ? "wait for" : c.kind == CommandKind::run ? "run" : "record";
      text += fmt::format("    {} '{}'{}\n", verb, graph.tasks()[static_cast<size_t>(c.task)].name, ago(c.lag));
    }
  }
  return text;
}

// A string of the DOT language.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace

std::string to_text(const TaskGraph& graph) {
  const std::vector<Task>& tasks = graph.tasks();
  const auto name = [&](int task) { return tasks[static_cast<size_t>(task)].name; };
  std::string text = "tasks\n";
  for (size_t i = 0; i < tasks.size(); ++i) {
    text += fmt::format("  {} '{}' on {}{}\n", i, tasks[i].name, tasks[i].stream->name(), when(tasks[i]));
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
  for (int level = graph.highest_level(); level >= 0; --level) text += programs(graph, level);
  return text;
}

std::string to_dot(const TaskGraph& graph) {
  std::string text = "digraph tasks {\n  rankdir=TB;\n  node [shape=box];\n";
  for (size_t stream = 0; stream < graph.streams().size(); ++stream) {
    text += fmt::format("  subgraph cluster_{} {{\n    label={};\n", stream, quoted(graph.streams()[stream]->name()));
    std::string chain;
    for (size_t i = 0; i < graph.tasks().size(); ++i) {
      if (graph.stream_of(static_cast<int>(i)) != static_cast<int>(stream)) continue;
      const Task& task = graph.tasks()[i];
      text += fmt::format("    t{} [label={}{}];\n", i, quoted(task.name + when(task)),
                          task.level == 0 ? "" : ", style=rounded");
      chain += fmt::format("{}t{}", chain.empty() ? "" : " -> ", i);
    }
    text += fmt::format("    {};\n  }}\n", chain);
  }
  std::vector<TaskCommand> waits;  // for the next task to run
  for (const TaskCommand& c : compile(graph)) {
    if (c.kind == CommandKind::wait) waits.push_back(c);
    if (c.kind != CommandKind::run) continue;
    for (const TaskCommand& wait : waits) {
      text +=
          fmt::format("  t{} -> t{}{};\n", wait.task, c.task, wait.lag == 0 ? "" : " [style=dashed, constraint=false]");
    }
    waits.clear();
  }
  return text + "}\n";
}

}  // namespace arbalest
