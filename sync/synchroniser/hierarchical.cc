// Hierarchical local SGD: every learner takes its own steps; at the end of every tau iterations the learners of a
// device become their mean,
//   w_j <- 1/m sum_{i on the device} w_i,
// and each global_every-th time those of all devices: w_j <- 1/k sum_i w_i.
//
// The mean over all learners is the same before and after an averaging, hence also after one that was left half done.
#include "graph/base/error.h"
#include "sync/synchroniser.h"
#include "sync/synchroniser/means.h"

namespace arbalest {
namespace {

enum Level { kLocal, kDevice, kGlobal };

class Hierarchical : public Synchroniser {
 public:
  Hierarchical(const Learners& learners, Collective& collective, const HierarchicalOptions& options)
      : learners_(learners),
        collective_(collective),
        options_(options),
        sum_(learners),
        states_(learners, collective, options.states) {
    if (options_.global_every < 1) {
      throw Error(ErrorKind::usage, "global synchronisation every {} synchronisations: must be at least 1",
                  options_.global_every);
    }
    copy_weights(learners_, all_learners(learners_)[0]->weights);
    copy_first_statistics(learners_);
  }

  void add_tasks(TaskGraph& tasks) override {
    const std::vector<LearnerMemories> memories = add_learner_memories(tasks, learners_);
    add_learn_tasks(tasks, learners_, memories);
    add_update_tasks(tasks, learners_, memories, options_.states == StatesAtSync::clear ? &options_.tau : nullptr);
    const std::vector<ArraySet> weights = weights_of(learners_, memories);
    if (learners_.devices.size() > 1 && options_.global_every > 1) {
      add_means(tasks, learners_, "average of device", weights, weights, device_counts(learners_), kDevice);
      states_.add_device_tasks(tasks, memories, kDevice);
    }
    add_means(tasks, learners_, "average", sum_.add_tasks(tasks, collective_, "weights", weights, kGlobal), weights,
              global_counts(learners_), kGlobal);
    states_.add_global_tasks(tasks, memories, kGlobal);
    tasks.set_levels([this](int64_t t) { return level_of(t); });
  }

  void restart(const RestartParts& parts) override {
    if (parts.weights) copy_weights(learners_, evaluated().weights);
    if (parts.states) clear_states(learners_);
  }

  ModelView evaluated() override {
    average_statistics(learners_, statistics_);
    average_weights(learners_, weights_);
    return {weights_.data(), statistics_.data()};
  }

 private:
  int level_of(int64_t iteration) const {
    if (!options_.tau.synchronises(iteration)) return kLocal;
    const bool global = options_.tau.count_before(iteration + 1) % options_.global_every == 0;
    return global || learners_.devices.size() == 1 ? kGlobal : kDevice;
  }

  const Learners& learners_;
  Collective& collective_;
  const HierarchicalOptions options_;
  GlobalSum sum_;
  StatesStep states_;
  AlignedFloats weights_, statistics_;
};

}  // namespace

std::unique_ptr<Synchroniser> make_hierarchical(const Learners& learners, Collective& collective,
                                                const HierarchicalOptions& options) {
  return std::make_unique<Hierarchical>(learners, collective, options);
}

}  // namespace arbalest
