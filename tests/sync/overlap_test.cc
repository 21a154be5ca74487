// A global synchronisation of SMA has a whole iteration: learners on other streams learn meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/sync/happens_before.h"
#include "tests/sync/synthetic_learners.h"

namespace arbalest {
namespace {

SyntheticLearners::Options with_synchronising_streams() {
  SyntheticLearners::Options options;
  options.synchronising_streams = true;
  return options;
}

class Overlap : public testing::TestWithParam<int64_t> {};  // tau

TEST_P(Overlap, NothingOrdersAGlobalSynchronisationAndTheNextForwardAndBackward) {
  constexpr int64_t kIterations = 12;
  const int64_t tau = GetParam();
  RecordingDevice device;
  SyntheticLearners::Options options = with_synchronising_streams();
  options.device = &device;
  SyntheticLearners learners(2, 2, options);
  const auto collective = make_local_collective();
  const auto sma = make_sma(learners.view(), *collective, {{}, 0.9, tau});
  const auto runner = make_runner(*sma);
  for (int64_t t = 0; t < kIterations; ++t) runner->launch();
  HappensBefore before = happens_before(device.commands);
  for (const char* global : {"all-reduce", "average"}) {
    for (int64_t t = tau - 1; t + 1 < kIterations; t += tau) {
      ASSERT_TRUE(before.contains({global, t}));
      for (int j = 0; j < 4; ++j) {
        const std::string learn = "learn " + std::to_string(j), update = "update " + std::to_string(j);
        EXPECT_FALSE((before[{learn, t + 1}].contains({global, t}))) << learn << " of " << t + 1 << ": " << global;
        EXPECT_FALSE((before[{global, t}].contains({learn, t + 1}))) << global << " of " << t << ": " << learn;
        EXPECT_TRUE((before[{global, t}].contains({update, t - 1})) || t == 0);  // whose weights are in it
        if (t + tau < kIterations) {
          EXPECT_TRUE((before[{update, t + tau}].contains({global, t})));  // whose z it needs
        }
      }
    }
  }
}

// The same on threads: the all-reduce of an iteration begins only once all learners are inside the next one.
class PatientCollective : public Collective {
 public:
  explicit PatientCollective(std::function<bool(int64_t)> wait) : wait_(std::move(wait)) {}
  void add_all_reduce(TaskGraph& tasks, std::span<const ReducePart> parts, ElementRange elements, int level) override {
    for (const ReducePart& part : parts) {
      tasks.add({"patience",
                 part.worker.stream,
                 {},
                 {range_of<float>(part.out_memory, elements)},
                 [this](int64_t t) {
                   if (lonely_ == 0 && !wait_(t)) ++lonely_;
                 },
                 level});
    }
    local_->add_all_reduce(tasks, parts, elements, level);
  }
  int lonely() const { return lonely_; }

 private:
  std::unique_ptr<Collective> local_ = make_local_collective();
  std::function<bool(int64_t)> wait_;
  std::atomic<int> lonely_{0};
};

TEST_P(Overlap, LearnersRunWhileTheGlobalSynchronisationDoes) {
  constexpr int kIterations = 24;  // the last one synchronises
  SyntheticLearners learners(2, 1, with_synchronising_streams());
  PatientCollective collective([&](int64_t t) {
    if (t + 1 == kIterations) return true;  // nobody will come
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (learners.begun() < t + 2) {  // iteration t + 1 has begun on all
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::yield();
    }
    return true;
  });
  const auto sma = make_sma(learners.view(), collective, {{}, 0.9, GetParam()});
  run(*make_runner(*sma), kIterations);
  EXPECT_EQ(collective.lonely(), 0);
}

INSTANTIATE_TEST_SUITE_P(Tau, Overlap, testing::Values(1, 2, 3));

TEST(Levels, LearnersWithoutATurnToSynchroniseDoNotWaitForEachOther) {
  SyntheticLearners learners(1, 3, {});
  const auto collective = make_local_collective();
  const auto local = make_local(learners.view(), *collective, {4, StatesAtSync::keep});
  TaskGraph graph;
  local->add_tasks(graph);
  for (int64_t t = 0; t < 12; ++t) {
    const auto commands = compile(graph, graph.level_of(t));
    const bool waits =
        std::any_of(commands.begin(), commands.end(), [](const TaskCommand& c) { return c.kind == CommandKind::wait; });
    EXPECT_EQ(waits, t % 4 == 3) << t;
  }
}

}  // namespace
}  // namespace arbalest
