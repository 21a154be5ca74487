// Sums over devices, as tasks of the graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "exec/element_range.h"
#include "sync/learners.h"
#include "sync/task_graph.h"

namespace arbalest {

// One device's part in a reduction: flat arrays, and what they are in the task graph.
struct ReducePart {
  StreamShare worker;
  const float* in = nullptr;
  float* out = nullptr;
  MemoryId in_memory;
  MemoryId out_memory;
};

class Collective {
 public:
  virtual ~Collective() = default;
  // Adds the tasks that give every part's `out` the sum of all parts' `in`, added up in the order of the parts; for the
  // elements of the range, in iterations from `level` on.
  virtual void add_all_reduce(TaskGraph& tasks, std::span<const ReducePart> parts, ElementRange elements,
                              int level) = 0;
};

// Devices of this process whose memory all of them can read: each sums for itself.
std::unique_ptr<Collective> make_local_collective();

}  // namespace arbalest
