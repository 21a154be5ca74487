#include "sync/synchroniser/learner_tasks.h"

#include <algorithm>

#include "exec/cpu/parallel.h"
#include "exec/optimiser/average.h"

namespace arbalest {
namespace {

template <class ArrayOf>
void average(const Learners& learners, const ArrayOf& array_of, int64_t elements, AlignedFloats& mean) {
  std::vector<const float*> sources;
  for (const Learner* learner : all_learners(learners)) sources.push_back(array_of(*learner));
  mean.resize(static_cast<size_t>(elements));
  sum_of(sources, 1.0f / static_cast<float>(sources.size()), mean.data(), 0, elements);
}

}  // namespace

std::vector<const Learner*> all_learners(const Learners& learners) {
  std::vector<const Learner*> all;
  for (const DeviceLearners& device : learners.devices) {
    for (const Learner& learner : device.learners) all.push_back(&learner);
  }
  return all;
}

std::string numbered(const std::string& name, size_t index, size_t count) {
  return count == 1 ? name : name + " " + std::to_string(index);
}

std::vector<LearnerMemories> add_learner_memories(TaskGraph& tasks, const Learners& learners) {
  const size_t count = learners.count();
  const auto add = [&](const char* name, size_t learner, int64_t elements) {
    return tasks.add_memory(numbered(name, learner, count), static_cast<size_t>(elements) * sizeof(float));
  };
  std::vector<LearnerMemories> memories;
  for (size_t j = 0; j < count; ++j) {
    memories.push_back({add("weights", j, learners.parameters), add("gradients", j, learners.parameters),
                        add("states", j, learners.parameters), add("statistics", j, learners.statistics)});
  }
  return memories;
}

void add_learn_tasks(TaskGraph& tasks, const Learners& learners, const std::vector<LearnerMemories>& memories) {
  const std::vector<const Learner*> all = all_learners(learners);
  for (size_t j = 0; j < all.size(); ++j) {
    tasks.add({numbered("learn", j, all.size()),
               all[j]->worker.stream,
               {tasks.whole(memories[j].weights)},
               {tasks.whole(memories[j].gradients), tasks.whole(memories[j].statistics)},
               all[j]->forward_backward});
  }
}

void add_update_tasks(TaskGraph& tasks, const Learners& learners, const std::vector<LearnerMemories>& memories,
                      const TauSchedule* cleared, std::vector<Count>* steps) {
  const std::vector<const Learner*> all = all_learners(learners);
  for (size_t j = 0; j < all.size(); ++j) {
    tasks.add({numbered("update", j, all.size()), all[j]->worker.stream, update_reads(tasks, learners, memories[j]),
               update_writes(tasks, learners, memories[j]),
               [&learners, learner = all[j], cleared, count = steps != nullptr ? &(*steps)[j] : nullptr](int64_t t) {
                 update_learner(learners, *learner, t, nullptr, 0, cleared != nullptr ? cleared->begin_of(t) : 0);
                 if (count != nullptr) ++count->value;
               }});
  }
}

std::vector<MemoryRange> update_reads(const TaskGraph& tasks, const Learners& learners, const LearnerMemories& m) {
  if (learners.optimiser->overwrites_gradients()) return {};
  return {tasks.whole(m.gradients)};
}

std::vector<MemoryRange> update_writes(const TaskGraph& tasks, const Learners& learners, const LearnerMemories& m) {
  std::vector<MemoryRange> writes{tasks.whole(m.weights), tasks.whole(m.states)};
  if (learners.optimiser->overwrites_gradients()) writes.push_back(tasks.whole(m.gradients));
  return writes;
}

size_t share_count(const Learners& learners) {
  size_t count = learners.devices.at(0).synchronising.size();
  for (const DeviceLearners& device : learners.devices) count = std::min(count, device.synchronising.size());
  return count;
}

ElementRange share_of(const Learners& learners, size_t share) {
  return part_of({0, learners.parameters}, static_cast<int64_t>(share), static_cast<int64_t>(share_count(learners)),
                 kCacheLineFloats);
}

UpdateArrays<float> arrays_at(const Learners& learners, const Learner& learner, int64_t begin) {
  UpdateArrays<float> arrays{learner.weights + begin, learner.gradients + begin};
  if (learner.measures != nullptr) arrays.factors = learners.optimiser->factors(learner.measures);
  for (int s = 0; s < learners.optimiser->state_count(); ++s) arrays.states[s] = learner.states[s] + begin;
  return arrays;
}

UpdateStep update_step(const Learners& learners, int64_t iteration, double correction) {
  return {learners.learning_rate(iteration), correction, iteration - learners.states_since};
}

void update_learner(const Learners& learners, const Learner& learner, int64_t iteration, const float* average,
                    double correction, int64_t states_since) {
  UpdateStep step = update_step(learners, iteration, correction);
  step.iteration = std::min(step.iteration, iteration - states_since);
  const Optimiser& optimiser = *learners.optimiser;
  for (int pass = 0; pass < optimiser.passes(); ++pass) {
    parallel_for(learner.worker.threads, optimiser.block_count(), [&](int64_t first, int64_t last) {
      optimiser.measure(pass, arrays_at(learners, learner, 0), step, learner.measures, first, last);
    });
    optimiser.gather(pass, learner.measures);
  }
  parallel_for(learner.worker.threads, ElementRange{0, learners.parameters}, [&](int64_t begin, int64_t end) {
    UpdateArrays<float> arrays = arrays_at(learners, learner, begin);
    if (average != nullptr) arrays.average = average + begin;
    learners.optimiser->update(arrays, step, begin, end);
  });
}

void clear_states(const Learners& learners) {
  for (const Learner* learner : all_learners(learners)) {
    for (int s = 0; s < learners.optimiser->state_count(); ++s) {
      std::fill_n(learner->states[s], learners.parameters, 0.0f);
    }
  }
}

void copy_weights(const Learners& learners, const float* weights) {
  for (const Learner* learner : all_learners(learners)) {
    if (learner->weights != weights) std::copy_n(weights, learners.parameters, learner->weights);
  }
}

void copy_first_statistics(const Learners& learners) {
  const std::vector<const Learner*> all = all_learners(learners);
  for (size_t j = 1; j < all.size(); ++j) std::copy_n(all[0]->statistics, learners.statistics, all[j]->statistics);
}

void average_weights(const Learners& learners, AlignedFloats& mean) {
  average(
      learners, [](const Learner& learner) { return learner.weights; }, learners.parameters, mean);
}

void average_statistics(const Learners& learners, AlignedFloats& mean) {
  average(
      learners, [](const Learner& learner) { return learner.statistics; }, learners.statistics, mean);
}

}  // namespace arbalest
