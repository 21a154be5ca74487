// Synchronous SGD (Chen, Pan, Monga, Bengio and Jozefowicz, Revisiting Distributed Synchronous SGD, arXiv 1604.00981,
// without backup workers): all learners take the step that the mean of their gradients gives.
//
// They are equal and stay equal, hence a device computes the step once: its synchronising streams share the parameters
// among them; each averages the gradients of its share, updates the first learner and copies the weights to the others,
// tile by tile while they are in the first cache. Only the first learner of a device has optimiser states.
//
// Several devices: each sums its learners' gradients, an all-reduce adds up the sums, and all update alike.
#include <algorithm>

#include "exec/cpu/parallel.h"
#include "exec/optimiser/average.h"
#include "sync/synchroniser.h"
#include "sync/synchroniser/means.h"

namespace arbalest {
namespace {

class Ssgd : public Synchroniser {
 public:
  Ssgd(const Learners& learners, Collective& collective)
      : learners_(learners), collective_(collective), all_(all_learners(learners)), sum_(learners) {
    copy_weights(learners_, all_[0]->weights);
    copy_first_statistics(learners_);
  }

  void add_tasks(TaskGraph& tasks) override {
    const std::vector<LearnerMemories> memories = add_learner_memories(tasks, learners_);
    add_learn_tasks(tasks, learners_, memories);
    const std::vector<ArraySet> sources =
        sum_.add_tasks(tasks, collective_, "gradients", gradients_of(learners_, memories), 0);
    for (size_t d = 0, j = 0; d < sources.size(); j += learners_.devices[d].learners.size(), ++d) {
      if (learners_.optimiser->passes() > 0) {
        add_measured_update(tasks, learners_.devices[d], &memories[j], sources[d]);
        continue;
      }
      for (size_t s = 0; s < share_count(learners_); ++s) {
        add_update(tasks, learners_.devices[d], &memories[j], sources[d], s);
      }
    }
  }

  void restart(const RestartParts& parts) override {
    if (parts.states) clear_states(learners_);
  }

  ModelView evaluated() override {
    average_statistics(learners_, statistics_);
    return {all_[0]->weights, statistics_.data()};
  }

 private:
  // Where norms come first, the mean is kept: in the gradients of the first learner.
  void add_measured_update(TaskGraph& tasks, const DeviceLearners& device, const LearnerMemories* memories,
                           const ArraySet& source) {
    const Optimiser& optimiser = *learners_.optimiser;
    const Learner& first = device.learners[0];
    const size_t shares = share_count(learners_);
    const MemoryId measures = tasks.add_memory("measures", optimiser.measure_count() * sizeof(double));
    const float scale = 1.0f / static_cast<float>(all_.size());
    for (size_t s = 0; s < shares; ++s) {
      const ElementRange share = share_of(learners_, s);
      add_shared(tasks, numbered("mean", s, shares), device.synchronising[s], source.ranges(share),
                 {range_of<float>(memories[0].gradients, share)}, share,
                 [scale, sources = source.sources(), mean = first.gradients](int64_t, int64_t begin, int64_t end) {
                   sum_of(sources, scale, mean + begin, begin, end);
                 });
    }
    for (int pass = 0; pass < optimiser.passes(); ++pass) {
      for (size_t s = 0; s < shares; ++s) add_measure(tasks, device, memories[0], measures, pass, s);
      tasks.add({"gather",
                 device.synchronising[0].stream,
                 {tasks.whole(measures)},
                 {tasks.whole(measures)},
                 [&optimiser, &first, pass](int64_t) { optimiser.gather(pass, first.measures); }});
    }
    for (size_t s = 0; s < shares; ++s) {
      const ElementRange share = share_of(learners_, s);
      std::vector<MemoryRange> writes = weights_and_states(device, memories, share);
      add_shared(tasks, numbered("update", s, shares), device.synchronising[s],
                 {tasks.whole(measures), range_of<float>(memories[0].gradients, share)}, writes, share,
                 [this, &device](int64_t t, int64_t begin, int64_t end) {
                   update_first(device, update_step(learners_, t, 0), device.learners[0].gradients + begin, begin, end);
                 });
    }
  }

  void add_measure(TaskGraph& tasks, const DeviceLearners& device, const LearnerMemories& memories, MemoryId measures,
                   int pass, size_t s) {
    const Optimiser& optimiser = *learners_.optimiser;
    const ElementRange blocks =
        part_of({0, optimiser.block_count()}, static_cast<int64_t>(s), static_cast<int64_t>(share_count(learners_)));
    if (blocks.size() == 0) return;
    const ElementRange elements{optimiser.block(blocks.begin).begin, optimiser.block(blocks.end - 1).end};
    std::vector<MemoryRange> reads{range_of<float>(memories.weights, elements)};
    const int64_t clip_factor = 2 * optimiser.block_count();  // what the pass before found
    if (pass > 0) reads.push_back(range_of<double>(measures, {clip_factor, clip_factor + 1}));
    add_shared(
        tasks, numbered("measure", s, share_count(learners_)), device.synchronising[s], std::move(reads),
        {range_of<float>(memories.gradients, elements), range_of<float>(memories.states, elements),
         range_of<double>(measures, {2 * blocks.begin, 2 * blocks.end})},
        blocks,
        [this, pass, &optimiser, &first = device.learners[0]](int64_t t, int64_t begin, int64_t end) {
          optimiser.measure(pass, arrays_at(learners_, first, 0), update_step(learners_, t, 0), first.measures, begin,
                            end);
        },
        1);
  }

  // A task whose range the threads of the stream share: body(iteration, begin, end).
  template <class Body>
  static void add_shared(TaskGraph& tasks, std::string name, StreamShare worker, std::vector<MemoryRange> reads,
                         std::vector<MemoryRange> writes, ElementRange range, const Body& body,
                         int64_t multiple = kCacheLineFloats) {
    tasks.add(
        {std::move(name), worker.stream, std::move(reads), std::move(writes), [=, threads = worker.threads](int64_t t) {
           parallel_for(
               threads, range, [&](int64_t begin, int64_t end) { body(t, begin, end); }, multiple);
         }});
  }

  std::vector<MemoryRange> weights_and_states(const DeviceLearners& device, const LearnerMemories* memories,
                                              ElementRange share) const {
    std::vector<MemoryRange> writes{range_of<float>(memories[0].states, share)};
    for (size_t j = 0; j < device.learners.size(); ++j) writes.push_back(range_of<float>(memories[j].weights, share));
    return writes;
  }

  void add_update(TaskGraph& tasks, const DeviceLearners& device, const LearnerMemories* memories,
                  const ArraySet& source, size_t s) {
    const ElementRange share = share_of(learners_, s);
    const StreamShare worker = device.synchronising[s];
    tasks.add({numbered("update", s, share_count(learners_)), worker.stream, source.ranges(share),
               weights_and_states(device, memories, share), [=, this, &device, sources = source.sources()](int64_t t) {
                 const UpdateStep step = update_step(learners_, t, 0);
                 const float scale = 1.0f / static_cast<float>(all_.size());
                 for_each_sum(sources, scale, worker.threads, share, [&](float* mean, int64_t begin, int64_t end) {
                   update_first(device, step, mean, begin, end);
                 });
               }});
  }

  // The first learner's step, whose weights the others take.
  void update_first(const DeviceLearners& device, const UpdateStep& step, float* gradients, int64_t begin,
                    int64_t end) {
    UpdateArrays<float> arrays = arrays_at(learners_, device.learners[0], begin);
    arrays.gradients = gradients;
    learners_.optimiser->update(arrays, step, begin, end);
    for (size_t j = 1; j < device.learners.size(); ++j) {
      std::copy(arrays.weights, arrays.weights + (end - begin), device.learners[j].weights + begin);
    }
  }

  const Learners& learners_;
  Collective& collective_;
  const std::vector<const Learner*> all_;
  GlobalSum sum_;
  AlignedFloats statistics_;
};

}  // namespace

std::unique_ptr<Synchroniser> make_ssgd(const Learners& learners, Collective& collective) {
  return std::make_unique<Ssgd>(learners, collective);
}

}  // namespace arbalest
