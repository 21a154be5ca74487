#include "sync/synchroniser/means.h"

namespace arbalest {
namespace {

template <class ArrayOf>
std::vector<ArraySet> collect(const Learners& learners, const std::vector<LearnerMemories>& memories,
                              MemoryId LearnerMemories::*memory, const ArrayOf& array_of) {
  std::vector<ArraySet> sets;
  auto of_learner = memories.begin();
  for (const DeviceLearners& device : learners.devices) {
    ArraySet& set = sets.emplace_back();
    for (const Learner& learner : device.learners) {
      set.arrays.push_back(array_of(learner));
      set.memories.push_back((*of_learner++).*memory);
    }
  }
  return sets;
}

}  // namespace

std::vector<MemoryRange> ArraySet::ranges(ElementRange elements) const {
  std::vector<MemoryRange> result;
  for (const MemoryId memory : memories) result.push_back(range_of<float>(memory, elements));
  return result;
}

std::vector<ArraySet> weights_of(const Learners& learners, const std::vector<LearnerMemories>& memories) {
  return collect(learners, memories, &LearnerMemories::weights, [](const Learner& l) { return l.weights; });
}

std::vector<ArraySet> gradients_of(const Learners& learners, const std::vector<LearnerMemories>& memories) {
  return collect(learners, memories, &LearnerMemories::gradients, [](const Learner& l) { return l.gradients; });
}

std::vector<ArraySet> states_of(const Learners& learners, const std::vector<LearnerMemories>& memories, int state) {
  return collect(learners, memories, &LearnerMemories::states, [=](const Learner& l) { return l.states[state]; });
}

std::vector<size_t> device_counts(const Learners& learners) {
  std::vector<size_t> counts;
  for (const DeviceLearners& device : learners.devices) counts.push_back(device.learners.size());
  return counts;
}

std::vector<size_t> global_counts(const Learners& learners) {
  return std::vector<size_t>(learners.devices.size(), learners.count());
}

GlobalSum::GlobalSum(const Learners& learners) : learners_(learners) {
  if (learners_.devices.size() == 1) return;
  for (const DeviceLearners& device : learners_.devices) {
    sums_.emplace_back(*device.device, learners_.parameters);
    totals_.emplace_back(*device.device, learners_.parameters);
  }
}

std::vector<ArraySet> GlobalSum::add_tasks(TaskGraph& tasks, Collective& collective, const std::string& what,
                                           const std::vector<ArraySet>& own, int level) {
  if (own.size() == 1) return own;
  std::vector<ArraySet> totals;
  std::vector<ReducePart> parts;
  const size_t bytes = static_cast<size_t>(learners_.parameters) * sizeof(float);
  for (size_t d = 0; d < own.size(); ++d) {
    const MemoryId sum = tasks.add_memory(numbered(what + " sum", d, own.size()), bytes);
    const MemoryId total = tasks.add_memory(numbered(what + " total", d, own.size()), bytes);
    parts.push_back({{}, sums_[d].data(), totals_[d].data(), sum, total});
    totals.push_back({{totals_[d].data()}, {total}});
  }
  for (size_t s = 0; s < share_count(learners_); ++s) {
    const ElementRange share = share_of(learners_, s);
    for (size_t d = 0; d < own.size(); ++d) {
      parts[d].worker = learners_.devices[d].synchronising[s];
      tasks.add(
          {"sum",
           parts[d].worker.stream,
           own[d].ranges(share),
           {range_of<float>(parts[d].in_memory, share)},
           [sources = own[d].sources(), sum = sums_[d].data(), share, threads = parts[d].worker.threads](int64_t) {
             parallel_for(threads, share,
                          [&](int64_t begin, int64_t end) { sum_of(sources, 1, sum + begin, begin, end); });
           },
           level});
    }
    collective.add_all_reduce(tasks, parts, share, level);
  }
  return totals;
}

void add_means(TaskGraph& tasks, const Learners& learners, const std::string& name, const std::vector<ArraySet>& from,
               const std::vector<ArraySet>& to, const std::vector<size_t>& counts, int level) {
  for (size_t d = 0; d < to.size(); ++d) {
    const float scale = 1.0f / static_cast<float>(counts[d]);
    for (size_t s = 0; s < share_count(learners); ++s) {
      const ElementRange share = share_of(learners, s);
      const StreamShare worker = learners.devices[d].synchronising[s];
      tasks.add({name, worker.stream, from[d].ranges(share), to[d].ranges(share),
                 [=, sources = from[d].sources(), targets = to[d].arrays, threads = worker.threads](int64_t) {
                   for_each_sum(sources, scale, threads, share, [&](const float* mean, int64_t begin, int64_t end) {
                     for (float* target : targets) std::copy(mean, mean + (end - begin), target + begin);
                   });
                 },
                 level});
    }
  }
}

StatesStep::StatesStep(const Learners& learners, Collective& collective, StatesAtSync what)
    : learners_(learners), collective_(collective), what_(what) {
  if (what_ != StatesAtSync::average) return;
  for (int i = 0; i < learners_.optimiser->state_count(); ++i) sums_.emplace_back(learners_);
}

void StatesStep::add_device_tasks(TaskGraph& tasks, const std::vector<LearnerMemories>& memories, int level) {
  if (what_ == StatesAtSync::clear) add_clearing(tasks, memories, level);
  for (size_t i = 0; i < sums_.size(); ++i) {
    const std::vector<ArraySet> own = states_of(learners_, memories, static_cast<int>(i));
    add_means(tasks, learners_, "average states", own, own, device_counts(learners_), level);
  }
}

void StatesStep::add_global_tasks(TaskGraph& tasks, const std::vector<LearnerMemories>& memories, int level) {
  if (what_ == StatesAtSync::clear) add_clearing(tasks, memories, level);
  for (size_t i = 0; i < sums_.size(); ++i) {
    const std::vector<ArraySet> own = states_of(learners_, memories, static_cast<int>(i));
    const std::string what = numbered("states", i, sums_.size());
    add_means(tasks, learners_, "average states", sums_[i].add_tasks(tasks, collective_, what, own, level), own,
              global_counts(learners_), level);
  }
}

void StatesStep::add_clearing(TaskGraph& tasks, const std::vector<LearnerMemories>& memories, int level) {
  const int states = learners_.optimiser->state_count();
  if (states == 0) return;
  const std::vector<const Learner*> all = all_learners(learners_);
  for (size_t j = 0; j < all.size(); ++j) {
    tasks.add({numbered("clear states", j, all.size()),
               all[j]->worker.stream,
               {},
               {tasks.whole(memories[j].states)},
               [states, learner = all[j], n = learners_.parameters](int64_t) {
                 for (int i = 0; i < states; ++i) std::fill_n(learner->states[i], n, 0.0f);
               },
               level});
  }
}

}  // namespace arbalest
