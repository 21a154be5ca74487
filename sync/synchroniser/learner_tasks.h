// What the synchronisers have in common: the learners' arrays as memories of the task graph, their tasks, their
// updates.
#pragma once

#include <string>
#include <vector>

#include "exec/element_range.h"
#include "exec/memory_plan.h"
#include "graph/host_tensor.h"
#include "sync/learners.h"
#include "sync/task_graph.h"
#include "sync/tau_schedule.h"

namespace arbalest {

// The learners in their order across devices; pointers into `learners`.
std::vector<const Learner*> all_learners(const Learners& learners);

// "update", or "update 1" where there are several.
std::string numbered(const std::string& name, size_t index, size_t count);

// All of the size of the parameters, but for the statistics. Element i of `states` stands for that of all states.
struct LearnerMemories {
  MemoryId weights, gradients, states, statistics;
};
std::vector<LearnerMemories> add_learner_memories(TaskGraph& tasks, const Learners& learners);  // one entry a learner

// Forward and backward of every learner.
void add_learn_tasks(TaskGraph& tasks, const Learners& learners, const std::vector<LearnerMemories>& memories);

// How often something was done; on a cache line of its own, as streams count at the same time.
struct alignas(64) Count {
  int64_t value = 0;
};

// The optimiser's step of every learner with its own gradients. `cleared` tells where the states are cleared on the
// way: whenever it synchronises; null: never. `steps` counts those of each learner; null: nobody counts. Both must
// outlive the tasks.
void add_update_tasks(TaskGraph& tasks, const Learners& learners, const std::vector<LearnerMemories>& memories,
                      const TauSchedule* cleared = nullptr, std::vector<Count>* steps = nullptr);

// What an update of a learner reads and writes: an optimiser may overwrite the gradients.
std::vector<MemoryRange> update_reads(const TaskGraph& tasks, const Learners& learners,
                                      const LearnerMemories& memories);
std::vector<MemoryRange> update_writes(const TaskGraph& tasks, const Learners& learners,
                                       const LearnerMemories& memories);

// In how many parts the parameters are cut for a synchronisation, and one of them: part s is computed by the s-th
// synchronising stream of each device.
size_t share_count(const Learners& learners);
ElementRange share_of(const Learners& learners, size_t share);

// The arrays of a learner from element `begin` on.
UpdateArrays<float> arrays_at(const Learners& learners, const Learner& learner, int64_t begin);

UpdateStep update_step(const Learners& learners, int64_t iteration, double correction);

// The optimiser's step of one learner with its own gradients, on its threads. `average` null: no correction. The
// states are as old as `states_since` or Learners::states_since says, whichever is later.
void update_learner(const Learners& learners, const Learner& learner, int64_t iteration, const float* average,
                    double correction, int64_t states_since = 0);

// While the streams are at rest:
void clear_states(const Learners& learners);
void copy_weights(const Learners& learners, const float* weights);  // to all learners
void copy_first_statistics(const Learners& learners);               // to all learners
using AlignedFloats = std::vector<float, AlignedAllocator<float, kMemoryAlignment>>;
void average_weights(const Learners& learners, AlignedFloats& mean);
void average_statistics(const Learners& learners, AlignedFloats& mean);

// A zeroed array in the memory of a device.
class DeviceFloats {
 public:
  DeviceFloats(Device& device, int64_t elements)
      : memory_(device.allocate(static_cast<size_t>(elements) * sizeof(float))) {}
  float* data() const { return reinterpret_cast<float*>(memory_.get()); }

 private:
  DeviceMemory memory_;
};

}  // namespace arbalest
