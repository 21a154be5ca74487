// Sums and means over the learners' arrays, as tasks: what the algorithms that average models now and then have in
// common.
//
// An array set says what is to be added up on a device: an array of each of its learners, in their order, or one that
// is a sum already. Lists of array sets have one entry a device.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "exec/cpu/parallel.h"
#include "exec/optimiser/average.h"
#include "sync/collective/collective.h"
#include "sync/synchroniser.h"
#include "sync/synchroniser/learner_tasks.h"

namespace arbalest {

struct ArraySet {
  std::vector<float*> arrays;
  std::vector<MemoryId> memories;
  std::vector<const float*> sources() const { return {arrays.begin(), arrays.end()}; }
  std::vector<MemoryRange> ranges(ElementRange elements) const;
};
std::vector<ArraySet> weights_of(const Learners& learners, const std::vector<LearnerMemories>& memories);
std::vector<ArraySet> gradients_of(const Learners& learners, const std::vector<LearnerMemories>& memories);
std::vector<ArraySet> states_of(const Learners& learners, const std::vector<LearnerMemories>& memories, int state);

// Calls body(sum, begin, end) for pieces of the elements that stay in the first cache: sum[i - begin] is `scale` times
// the sum of element i, and may be overwritten.
template <class Body>
void for_each_sum(const std::vector<const float*>& sources, float scale, int threads, ElementRange elements,
                  const Body& body) {
  constexpr int64_t kPiece = 2048;
  parallel_for(threads, elements, [&](int64_t first, int64_t last) {
    alignas(64) float sum[kPiece];
    for (int64_t begin = first; begin < last; begin += kPiece) {
      const int64_t end = std::min(last, begin + kPiece);
      sum_of(sources, scale, sum, begin, end);
      body(static_cast<float*>(sum), begin, end);
    }
  });
}

// The sum over all learners of one of their arrays, on every device. One device alone needs none: nothing is kept.
class GlobalSum {
 public:
  explicit GlobalSum(const Learners& learners);
  // Adds the tasks that sum `own`, which they name after `what`; the result stands for the sum, on each device.
  std::vector<ArraySet> add_tasks(TaskGraph& tasks, Collective& collective, const std::string& what,
                                  const std::vector<ArraySet>& own, int level);

 private:
  const Learners& learners_;
  std::vector<DeviceFloats> sums_, totals_;  // of each device
};

// Adds the tasks that give every array of `to` the sum of `from`, divided by `counts`.
void add_means(TaskGraph& tasks, const Learners& learners, const std::string& name, const std::vector<ArraySet>& from,
               const std::vector<ArraySet>& to, const std::vector<size_t>& counts, int level);

// What becomes of the optimiser's states at a synchronisation.
class StatesStep {
 public:
  StatesStep(const Learners& learners, Collective& collective, StatesAtSync what);
  void add_device_tasks(TaskGraph& tasks, const std::vector<LearnerMemories>& memories, int level);
  void add_global_tasks(TaskGraph& tasks, const std::vector<LearnerMemories>& memories, int level);

 private:
  void add_clearing(TaskGraph& tasks, const std::vector<LearnerMemories>& memories, int level);

  const Learners& learners_;
  Collective& collective_;
  const StatesAtSync what_;
  std::vector<GlobalSum> sums_;  // of each state, where they are averaged
};

// Learners of each device, and all learners on each device.
std::vector<size_t> device_counts(const Learners& learners);
std::vector<size_t> global_counts(const Learners& learners);

}  // namespace arbalest
