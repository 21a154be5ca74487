// Synchronous SGD: all learners take the step that the mean of their gradients gives.
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
#include "sync/synchroniser/learner_tasks.h"

namespace arbalest {
namespace {

constexpr int64_t kTile = 2048;  // floats: the mean stays in the first cache

struct GradientSource {
  std::vector<const float*> arrays;
  std::vector<MemoryId> memories;
};

class Ssgd : public Synchroniser {
 public:
  Ssgd(const Learners& learners, Collective& collective)
      : learners_(learners), collective_(collective), all_(all_learners(learners)) {
    if (learners_.devices.size() > 1) {
      for (const DeviceLearners& device : learners_.devices) {
        sums_.emplace_back(*device.device, learners_.parameters);
        totals_.emplace_back(*device.device, learners_.parameters);
      }
    }
    copy_weights(learners_, all_[0]->weights);
    copy_first_statistics(learners_);
  }

  void add_tasks(TaskGraph& tasks) override {
    const std::vector<LearnerMemories> memories = add_learner_memories(tasks, learners_);
    add_learn_tasks(tasks, learners_, memories);
    std::vector<GradientSource> sources;  // of each device
    for (size_t d = 0, j = 0; d < learners_.devices.size(); ++d) {
      sources.emplace_back();
      for (size_t end = j + learners_.devices[d].learners.size(); j < end; ++j) {
        sources[d].arrays.push_back(all_[j]->gradients);
        sources[d].memories.push_back(memories[j].gradients);
      }
    }
    if (sources.size() > 1) sources = add_reduction(tasks, sources);
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

  void restart() override { clear_states(learners_); }

  ModelView evaluated() override {
    average_statistics(learners_, statistics_);
    return {all_[0]->weights, statistics_.data()};
  }

 private:
  // The sum over all devices, as the one source of each.
  std::vector<GradientSource> add_reduction(TaskGraph& tasks, const std::vector<GradientSource>& sources) {
    std::vector<GradientSource> totals;
    std::vector<ReducePart> parts;
    const size_t bytes = static_cast<size_t>(learners_.parameters) * sizeof(float);
    for (size_t d = 0; d < sources.size(); ++d) {
      const MemoryId sum = tasks.add_memory(numbered("gradient sum", d, sources.size()), bytes);
      const MemoryId total = tasks.add_memory(numbered("gradient total", d, sources.size()), bytes);
      parts.push_back({{}, sums_[d].data(), totals_[d].data(), sum, total});
      totals.push_back({{totals_[d].data()}, {total}});
    }
    for (size_t s = 0; s < share_count(learners_); ++s) {
      const ElementRange share = share_of(learners_, s);
      for (size_t d = 0; d < sources.size(); ++d) {
        parts[d].worker = learners_.devices[d].synchronising[s];
        tasks.add({"sum",
                   parts[d].worker.stream,
                   ranges(sources[d].memories, share),
                   {range_of<float>(parts[d].in_memory, share)},
                   [arrays = sources[d].arrays, sum = sums_[d].data(), share, worker = parts[d].worker](int64_t) {
                     parallel_for(worker.threads, share,
                                  [&](int64_t begin, int64_t end) { sum_of(arrays, 1, sum + begin, begin, end); });
                   }});
      }
      collective_.add_all_reduce(tasks, parts, share, [](int64_t) { return true; });
    }
    return totals;
  }

  // Where norms come first, the mean is kept: in the gradients of the first learner.
  void add_measured_update(TaskGraph& tasks, const DeviceLearners& device, const LearnerMemories* memories,
                           const GradientSource& source) {
    const Optimiser& optimiser = *learners_.optimiser;
    const Learner& first = device.learners[0];
    const size_t shares = share_count(learners_);
    const MemoryId measures = tasks.add_memory("measures", optimiser.measure_count() * sizeof(double));
    const float scale = 1.0f / static_cast<float>(all_.size());
    for (size_t s = 0; s < shares; ++s) {
      const ElementRange share = share_of(learners_, s);
      add_shared(tasks, numbered("mean", s, shares), device.synchronising[s], ranges(source.memories, share),
                 {range_of<float>(memories[0].gradients, share)}, share,
                 [scale, arrays = source.arrays, mean = first.gradients](int64_t, int64_t begin, int64_t end) {
                   sum_of(arrays, scale, mean + begin, begin, end);
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
    add_shared(
        tasks, numbered("measure", s, share_count(learners_)), device.synchronising[s],
        {range_of<float>(memories.weights, elements)},
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
                  const GradientSource& source, size_t s) {
    const ElementRange share = share_of(learners_, s);
    add_shared(tasks, numbered("update", s, share_count(learners_)), device.synchronising[s],
               ranges(source.memories, share), weights_and_states(device, memories, share), share,
               [this, &device, arrays = source.arrays](int64_t t, int64_t begin, int64_t end) {
                 const UpdateStep step = update_step(learners_, t, 0);
                 for (int64_t i = begin; i < end; i += kTile) {
                   update_tile(device, arrays, step, i, std::min(end, i + kTile));
                 }
               });
  }

  void update_tile(const DeviceLearners& device, const std::vector<const float*>& sources, const UpdateStep& step,
                   int64_t begin, int64_t end) {
    alignas(64) float mean[kTile];
    sum_of(sources, 1.0f / static_cast<float>(all_.size()), mean, begin, end);
    update_first(device, step, mean, begin, end);
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

  static std::vector<MemoryRange> ranges(const std::vector<MemoryId>& memories, ElementRange elements) {
    std::vector<MemoryRange> result;
    for (const MemoryId memory : memories) result.push_back(range_of<float>(memory, elements));
    return result;
  }

  const Learners& learners_;
  Collective& collective_;
  const std::vector<const Learner*> all_;
  std::vector<DeviceFloats> sums_;  // of each device, where there are several
  std::vector<DeviceFloats> totals_;
  AlignedFloats statistics_;
};

}  // namespace

std::unique_ptr<Synchroniser> make_ssgd(const Learners& learners, Collective& collective) {
  return std::make_unique<Ssgd>(learners, collective);
}

}  // namespace arbalest
