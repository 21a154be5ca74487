// A learner takes the memory that is planned for it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "tests/trainer/small_models.h"

namespace arbalest {
namespace {

size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(LearnerMemory, IsWhatIsPlanned) {
  const SmallModel model = small_model("resnet8", {3, 32, 32}, 10);
  TrainerOptions options;
  options.optimiser.momentum = 0.9;
  const auto resident_with = [&](int learners) {
    options.learners = learners;
    Trainer trainer(model.training, model.batch(96), cpu::kernel_set(), options, stream_loader(learners, 96, 10));
    trainer.run(2);
    return std::pair(static_cast<double>(resident_bytes()), static_cast<double>(trainer.learner_bytes()));
  };
  const auto one = resident_with(1), three = resident_with(3);
  EXPECT_GT(one.second, 50e6) << "too small to measure";
  EXPECT_NEAR((three.first - one.first) / 2 / one.second, 1.0, 0.1);
}

}  // namespace
}  // namespace arbalest
