// Every device has a copy of z and takes the same steps. A step of z needs the updates of all learners, and the next
// gradients of a device's learners need it: when a learner fails, the copy on its device is whole, while another device
// may have stepped some shares only. Then the counts differ, and the last whole z is all that is certain.
#include "sync/synchroniser/outer_step.h"

#include "graph/base/error.h"
#include "sync/synchroniser/means.h"

namespace arbalest {
namespace {

enum OuterLevel { kInner, kOuter };

// What a device keeps.
struct OuterModel {
  DeviceFloats z, momentum;
  std::vector<Count> steps;  // of each share
  bool whole() const {
    return std::all_of(steps.begin(), steps.end(), [&](const Count& c) { return c.value == steps[0].value; });
  }
};

class OuterSynchroniser : public Synchroniser {
 public:
  OuterSynchroniser(const Learners& learners, Collective& collective, const OuterStep& step)
      : learners_(learners),
        collective_(collective),
        step_(step),
        updates_(learners.count()),
        sum_(learners),
        states_(learners, collective, step.states) {
    const float* first = all_learners(learners_)[0]->weights;
    for (const DeviceLearners& d : learners_.devices) {
      models_.push_back({DeviceFloats(*d.device, learners_.parameters), DeviceFloats(*d.device, learners_.parameters),
                         std::vector<Count>(share_count(learners_))});
      std::copy_n(first, learners_.parameters, models_.back().z.data());
    }
    copy_weights(learners_, first);
    copy_first_statistics(learners_);
  }

  void add_tasks(TaskGraph& tasks) override {
    const std::vector<LearnerMemories> memories = add_learner_memories(tasks, learners_);
    add_learn_tasks(tasks, learners_, memories);
    add_update_tasks(tasks, learners_, memories, step_.states == StatesAtSync::clear ? &step_.tau : nullptr, &updates_);
    const std::vector<ArraySet> weights = weights_of(learners_, memories);
    const std::vector<ArraySet> total = sum_.add_tasks(tasks, collective_, "weights", weights, kOuter);
    for (size_t d = 0; d < models_.size(); ++d) add_steps(tasks, d, total[d], weights[d]);
    states_.add_global_tasks(tasks, memories, kOuter);
    tasks.set_levels([this](int64_t t) { return step_.tau.synchronises(t) ? kOuter : kInner; });
  }

  void restart(const RestartParts& parts) override {
    const OuterModel& whole = whole_model();
    const float* centre = parts.weights ? evaluated().weights : whole.z.data();
    for (OuterModel& model : models_) {
      if (model.z.data() != centre) std::copy_n(centre, learners_.parameters, model.z.data());
      if (parts.centre) std::fill_n(model.momentum.data(), learners_.parameters, 0.0f);
      if (&model == &whole) continue;
      std::copy_n(whole.momentum.data(), learners_.parameters, model.momentum.data());
      model.steps = whole.steps;
    }
    for (Count& updates : updates_) updates.value = 0;
    if (parts.weights) copy_weights(learners_, centre);
    if (parts.states) clear_states(learners_);
  }

  ModelView evaluated() override {
    average_statistics(learners_, statistics_);
    const float* z = whole_model().z.data();
    if (!complete() || all_at(z)) return {z, statistics_.data()};
    average_weights(learners_, weights_);
    return {weights_.data(), statistics_.data()};
  }

  std::vector<NamedBytes> arrays() override {
    std::vector<NamedBytes> all;
    const auto elements = static_cast<size_t>(learners_.parameters);
    for (size_t d = 0; d < models_.size(); ++d) {
      OuterModel& model = models_[d];
      const auto name = [&](const char* of) { return numbered(of, d, models_.size()); };
      all.push_back(named_bytes(name("z"), std::span(model.z.data(), elements)));
      all.push_back(named_bytes(name("outer momentum"), std::span(model.momentum.data(), elements)));
      all.push_back(named_bytes(name("steps"), std::span(model.steps)));
    }
    return all;
  }

 private:
  // Whether all that was begun has ended: no task has failed.
  bool complete() const {
    const auto equal = [](const std::vector<Count>& counts, const Count& count) {
      return std::all_of(counts.begin(), counts.end(), [&](const Count& c) { return c.value == count.value; });
    };
    return equal(updates_, updates_[0]) && std::all_of(models_.begin(), models_.end(), [&](const OuterModel& m) {
             return equal(m.steps, models_[0].steps[0]);
           });
  }

  // Whether nobody has moved since the last synchronisation.
  bool all_at(const float* z) const {
    const std::vector<const Learner*> all = all_learners(learners_);
    return std::all_of(all.begin(), all.end(), [&](const Learner* learner) {
      return std::equal(z, z + learners_.parameters, learner->weights);
    });
  }

  const OuterModel& whole_model() const {
    const auto whole = std::find_if(models_.begin(), models_.end(), [](const OuterModel& m) { return m.whole(); });
    ensure(whole != models_.end(), "outer step: no device has a whole model");
    return *whole;
  }

  void add_steps(TaskGraph& tasks, size_t d, const ArraySet& total, const ArraySet& weights) {
    const size_t bytes = static_cast<size_t>(learners_.parameters) * sizeof(float);
    const MemoryId z = tasks.add_memory(numbered("z", d, models_.size()), bytes);
    const MemoryId momentum = tasks.add_memory(numbered("outer momentum", d, models_.size()), bytes);
    for (size_t s = 0; s < share_count(learners_); ++s) {
      const ElementRange share = share_of(learners_, s);
      const StreamShare worker = learners_.devices[d].synchronising[s];
      std::vector<MemoryRange> writes = weights.ranges(share);
      writes.push_back(range_of<float>(z, share));
      writes.push_back(range_of<float>(momentum, share));
      tasks.add({"outer step", worker.stream, total.ranges(share), writes,
                 [this, d, s, share, sources = total.sources(), targets = weights.arrays,
                  threads = worker.threads](int64_t t) {
                   const float mean = 1.0f / static_cast<float>(learners_.count());
                   for_each_sum(sources, mean, threads, share, [&](const float* to, int64_t begin, int64_t end) {
                     step(models_[d], to, t, begin, end);
                     const float* stepped = models_[d].z.data();
                     for (float* target : targets) std::copy(stepped + begin, stepped + end, target + begin);
                   });
                   ++models_[d].steps[s].value;
                 },
                 kOuter});
    }
  }

  void step(const OuterModel& model, const float* mean, int64_t iteration, int64_t begin, int64_t end) const {
    const auto scale = static_cast<float>(step_.scale(iteration));
    const auto rate = static_cast<float>(step_.rate(iteration));
    const auto mu = static_cast<float>(step_.momentum);
    const float of_gradient = step_.nesterov ? 1.0f : 0.0f;
    const float of_momentum = step_.nesterov ? mu : 1.0f;
    float* z = model.z.data();
    float* v = model.momentum.data();
    for (int64_t i = begin; i < end; ++i) {
      const float d = scale * (z[i] - mean[i - begin]);
      v[i] = mu * v[i] + d;
      z[i] -= rate * (of_gradient * d + of_momentum * v[i]);
    }
  }

  const Learners& learners_;
  Collective& collective_;
  const OuterStep step_;
  std::vector<OuterModel> models_;  // of each device
  std::vector<Count> updates_;      // of each learner, in this process
  GlobalSum sum_;
  StatesStep states_;
  AlignedFloats weights_, statistics_;
};

}  // namespace

void check_outer(const char* algorithm, double learning_rate, double momentum, double bound) {
  if (!(momentum >= 0 && momentum < 1)) {
    throw Error(ErrorKind::usage, "{} momentum {}: must be at least 0 and less than 1", algorithm, momentum);
  }
  if (!(learning_rate > 0 && learning_rate < bound)) {
    throw Error(ErrorKind::usage, "{} learning rate {}: stable only between 0 and {:.4g} for momentum {}", algorithm,
                learning_rate, bound, momentum);
  }
}

std::unique_ptr<Synchroniser> make_outer(const Learners& learners, Collective& collective, const OuterStep& step) {
  return std::make_unique<OuterSynchroniser>(learners, collective, step);
}

}  // namespace arbalest
