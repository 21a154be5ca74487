// The tasks of one iteration, and the commands that run them on their streams.
//
// compile() turns what the tasks read and write into hazards, within the iteration and from one iteration to the next,
// and these into the fewest waits (exec/hazard.h, exec/stream_order.h). Invariant of the commands: each stream's tasks
// keep their order, and a record precedes every wait for it, so that they can be issued one after the other.
#pragma once

#include <cstdint>
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

  MemoryRange whole(MemoryId memory) const { return {memory, 0, bytes_of(memory)}; }
  size_t bytes_of(MemoryId memory) const { return memories_[memory.at()].second; }
  const std::string& name_of(MemoryId memory) const { return memories_[memory.at()].first; }

  const std::vector<Task>& tasks() const { return tasks_; }
  const std::vector<MemoryPair>& alternating() const { return alternating_; }
  const std::vector<Stream*>& streams() const { return streams_; }  // in order of first use
  int stream_of(int task) const { return stream_of_[static_cast<size_t>(task)]; }
  std::vector<Hazard> hazards() const;

 private:
  std::vector<std::pair<std::string, size_t>> memories_;
  std::vector<MemoryPair> alternating_;
  std::vector<Task> tasks_;
  std::vector<Stream*> streams_;
  std::vector<int> stream_of_;
};

enum class CommandKind : uint8_t { wait, run, record };

struct TaskCommand {
  CommandKind kind = CommandKind::run;
  int stream = 0;  // index into streams()
  int task = 0;    // to run; to record; to wait for
  int lag = 0;     // of a wait: iterations ago
  friend bool operator==(const TaskCommand&, const TaskCommand&) = default;
};

// The commands of one iteration in an order in which they may be issued.
std::vector<TaskCommand> compile(const TaskGraph& graph);

// Tasks with their ranges, hazards, and each stream's program.
std::string to_text(const TaskGraph& graph);

}  // namespace arbalest
