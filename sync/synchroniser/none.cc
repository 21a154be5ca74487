// No synchronisation: k independent trainings, of which the first is evaluated.
#include "sync/synchroniser.h"
#include "sync/synchroniser/learner_tasks.h"

namespace arbalest {
namespace {

class NoSynchroniser : public Synchroniser {
 public:
  explicit NoSynchroniser(const Learners& learners) : learners_(learners), all_(all_learners(learners)) {
    copy_weights(learners_, all_[0]->weights);
    copy_first_statistics(learners_);
  }

  void add_tasks(TaskGraph& tasks) override {
    const std::vector<LearnerMemories> memories = add_learner_memories(tasks, learners_);
    add_learn_tasks(tasks, learners_, memories);
    add_update_tasks(tasks, learners_, memories);
  }

  void restart(const RestartParts& parts) override {
    if (parts.states) clear_states(learners_);
  }
  ModelView evaluated() override { return {all_[0]->weights, all_[0]->statistics}; }

 private:
  const Learners& learners_;
  const std::vector<const Learner*> all_;
};

}  // namespace

std::unique_ptr<Synchroniser> make_none(const Learners& learners) { return std::make_unique<NoSynchroniser>(learners); }

}  // namespace arbalest
