// A global synchronisation of SMA has a whole iteration: learners on other streams learn meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>

#include "sync/recording_device.h"
#include "tests/sync/synthetic_learners.h"

namespace arbalest {
namespace {

SyntheticLearners::Options with_synchronising_streams() {
  SyntheticLearners::Options options;
  options.synchronising_streams = true;
  return options;
}

// (task, iteration) of all that must have ended before a task begins, by streams and waits alone.
using Ended = std::set<std::pair<std::string, int64_t>>;

std::map<std::pair<std::string, int64_t>, Ended> happens_before(const TaskGraph& graph, int64_t iterations) {
  std::map<int, Ended> on_stream;
  std::map<std::pair<int, int64_t>, Ended> recorded;
  std::map<std::pair<std::string, int64_t>, Ended> before;
  const std::vector<TaskCommand> commands = compile(graph);
  for (int64_t t = 0; t < iterations; ++t) {
    for (const TaskCommand& c : commands) {
      Ended& now = on_stream[c.stream];
      const std::pair<std::string, int64_t> task{graph.tasks()[static_cast<size_t>(c.task)].name, t};
      if (c.kind == CommandKind::record) recorded[{c.task, t}] = now;
      if (c.kind == CommandKind::wait && t >= c.lag) {
        const Ended& waited = recorded[{c.task, t - c.lag}];
        now.insert(waited.begin(), waited.end());
      }
      if (c.kind != CommandKind::run) continue;
      before[task].insert(now.begin(), now.end());
      now.insert(task);
    }
  }
  return before;
}

TEST(Overlap, NothingOrdersAGlobalSynchronisationAndTheNextForwardAndBackward) {
  SyntheticLearners learners(2, 2, with_synchronising_streams());
  const auto collective = make_local_collective();
  const auto sma = make_sma(learners.view(), *collective, {});
  TaskGraph graph;
  sma->add_tasks(graph);
  auto before = happens_before(graph, 4);
  for (const char* global : {"all-reduce", "average"}) {
    for (int j = 0; j < 4; ++j) {
      const std::string learn = "learn " + std::to_string(j);
      for (int64_t t = 0; t < 3; ++t) {
        EXPECT_FALSE((before[{learn, t + 1}].count({global, t})))
            << learn << " of " << t + 1 << " waits for " << global;
        EXPECT_FALSE((before[{global, t}].count({learn, t + 1}))) << global << " of " << t << " waits for " << learn;
      }
      const std::string update = "update " + std::to_string(j);
      EXPECT_TRUE((before[{update, 2}].count({"average", 1})));  // whose z it needs
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
                   if (!wait_(t)) ++lonely_;
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

TEST(Overlap, LearnersRunWhileTheGlobalSynchronisationDoes) {
  constexpr int kIterations = 20;
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
  const auto sma = make_sma(learners.view(), collective, {});
  run(*make_runner(*sma), kIterations);
  EXPECT_EQ(collective.lonely(), 0);
}

TEST(Overlap, LearnersWithoutATurnToSynchroniseDoNotWaitForEachOther) {
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
