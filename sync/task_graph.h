// The tasks of one iteration, and the commands that run them on their streams.
//
// compile() turns what the tasks read and write into hazards, within the iteration and from one iteration to the next,
// and these into the fewest waits (exec/hazard.h, exec/stream_order.h). Invariant of the commands: each stream's tasks
// keep their order, and a record precedes every wait for it, so that they can be issued one after the other.
//
// Not every iteration need run all tasks: a learner that synchronises rarely should not wait for the others in between.
// An iteration has a level and runs the tasks up to it; each level has commands of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sync/task.h"

namespace arbalest {

class TaskGraph {
 public:
  // Names some memory that tasks touch; addresses do not matter here.
  MemoryId add_memory(const std::string& name, size_t bytes);
  // The two memories swap their roles after each iteration: what one iteration calls a, the next calls b. The tasks
  // must know which of the two is which.
  void alternate(MemoryId a, MemoryId b);
  void add(Task task);  // internal error for a range outside its memory
  // The levels of the iterations, at least 0. Without it every iteration has the highest.
  void set_levels(std::function<int(int64_t iteration)> level_of) { level_of_ = std::move(level_of); }

  MemoryRange whole(MemoryId memory) const { return {memory, 0, bytes_of(memory)}; }
  size_t bytes_of(MemoryId memory) const { return memories_[memory.at()].second; }
  const std::string& name_of(MemoryId memory) const { return memories_[memory.at()].first; }

  const std::vector<Task>& tasks() const { return tasks_; }
  const std::vector<MemoryPair>& alternating() const { return alternating_; }
  const std::vector<Stream*>& streams() const { return streams_; }  // in order of first use
  int stream_of(int task) const { return stream_of_[static_cast<size_t>(task)]; }
  int highest_level() const { return highest_level_; }
  int level_of(int64_t iteration) const {
    return level_of_ ? std::min(level_of_(iteration), highest_level_) : highest_level_;
  }
  // Of iterations that follow each other on this level.
  std::vector<Hazard> hazards(int level) const;
  std::vector<Hazard> hazards() const { return hazards(highest_level_); }

 private:
  std::vector<std::pair<std::string, size_t>> memories_;
  std::vector<MemoryPair> alternating_;
  std::vector<Task> tasks_;
  std::vector<Stream*> streams_;
  std::vector<int> stream_of_;
  std::function<int(int64_t)> level_of_;
  int highest_level_ = 0;
};

enum class CommandKind : uint8_t { wait, run, record };

struct TaskCommand {
  CommandKind kind = CommandKind::run;
  int stream = 0;  // index into streams()
  int task = 0;    // to run; to record; to wait for
  int lag = 0;     // of a wait: iterations ago
  friend bool operator==(const TaskCommand&, const TaskCommand&) = default;
};

// The commands of one iteration of a level in an order in which they may be issued. Their waits for earlier iterations
// hold where those have the same level.
std::vector<TaskCommand> compile(const TaskGraph& graph, int level);
inline std::vector<TaskCommand> compile(const TaskGraph& graph) { return compile(graph, graph.highest_level()); }

// For each task of a level, the other streams for whose earlier iterations it has to wait when the level changes: those
// with a task of any level that is in conflict with it, less those for which a task before it on its stream waits.
// Memories that alternate count as one: which of them an earlier iteration touched depends on its number.
std::vector<std::vector<int>> streams_before(const TaskGraph& graph, int level);

// Tasks with their ranges, hazards, and each stream's program.
std::string to_text(const TaskGraph& graph);
// The tasks of an iteration as a drawing in the DOT language: a box a stream, its order, and the waits (dashed: for the
// last iteration).
std::string to_dot(const TaskGraph& graph);

}  // namespace arbalest
