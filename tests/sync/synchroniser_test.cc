#include "sync/synchroniser.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "sync/recording_device.h"
#include "sync/trainer.h"
#include "tests/sync/synthetic_learners.h"

namespace arbalest {
namespace {

enum class Kind { none, ssgd, sma, sma_every_third, easgd, local, post_local, hierarchical, slowmo, diloco };

std::unique_ptr<Synchroniser> make(Kind kind, const Learners& learners, Collective& collective) {
  switch (kind) {
    case Kind::none:
      return make_none(learners);
    case Kind::ssgd:
      return make_ssgd(learners, collective);
    case Kind::sma:
      return make_sma(learners, collective, {});
    case Kind::sma_every_third:
      return make_sma(learners, collective, {{}, 0.5, 3});
    case Kind::easgd:
      return make_easgd(learners, collective, {{}, 2});
    case Kind::local:
      return make_local(learners, collective, {3, StatesAtSync::average});
    case Kind::post_local:
      return make_local(learners, collective, {TauSchedule::parse("1,4:3"), StatesAtSync::keep});
    case Kind::hierarchical:
      return make_hierarchical(learners, collective, {2, 2, StatesAtSync::average});
    case Kind::slowmo:
      return make_slowmo(learners, collective, {1, 0.7, 4, StatesAtSync::clear});
    case Kind::diloco:
      return make_diloco(learners, collective, {0.7, 0.9, 1, StatesAtSync::keep});
  }
  return nullptr;
}

// Everything that a training leaves behind.
struct Result {
  std::vector<std::vector<float>> arrays;
  friend bool operator==(const Result&, const Result&) = default;
};

Result train(Kind kind, int devices, int learners_per_device, const SyntheticLearners::Options& options) {
  SyntheticLearners learners(devices, learners_per_device, options);
  const auto collective = make_local_collective();
  const auto synchroniser = make(kind, learners.view(), *collective);
  const auto runner = make_runner(*synchroniser);
  run(*runner, 11);
  synchroniser->restart({});
  run(*runner, 6);
  Result result;
  for (size_t j = 0; j < learners.view().count(); ++j) {
    result.arrays.push_back(learners.weights(j));
    for (size_t s = 0; s < kMostOptimiserStates; ++s) result.arrays.push_back(learners.state(j, s));
  }
  const ModelView model = synchroniser->evaluated();
  result.arrays.push_back(copy_of(model.weights, kParameters));
  result.arrays.push_back(copy_of(model.statistics, kStatistics));
  return result;
}

OptimiserOptions optimiser_of(OptimiserKind kind, double clip_norm = 0, double clip_value = 0) {
  OptimiserOptions o;
  o.kind = kind;
  if (kind == OptimiserKind::sgd || kind == OptimiserKind::lars) o.momentum = kMomentum;
  o.weight_decay = 0.01;
  o.clip_norm = clip_norm;
  o.clip_value = clip_value;
  return o;
}

// Those that measure norms before they update.
const OptimiserOptions kMeasuring[] = {optimiser_of(OptimiserKind::sgd, 3), optimiser_of(OptimiserKind::lamb),
                                       optimiser_of(OptimiserKind::lamb, 3, 0.4), optimiser_of(OptimiserKind::lars),
                                       optimiser_of(OptimiserKind::lars, 3, 0.4)};

std::string to_string(const OptimiserOptions& o) {
  return fmt::format("{}, clipped to norm {}, value {}", name_of(o.kind), o.clip_norm, o.clip_value);
}

// Copies of all bytes of all learners' arrays, by the names of their memories.
using Snapshot = std::map<std::string, std::vector<std::string>>;
Snapshot snapshot(SyntheticLearners& learners) {
  Snapshot copies;
  for (size_t j = 0; j < learners.view().count(); ++j) {
    for (const auto& [name, arrays] : learners.arrays(j)) {
      for (const std::span<std::byte> array : arrays)
        copies[name].emplace_back(reinterpret_cast<const char*>(array.data()), array.size());
    }
  }
  return copies;
}

// The memory in which the task changed a byte that it does not declare as written; empty: none.
std::string undeclared_write(const TaskGraph& graph, const Task& task, const Snapshot& before, const Snapshot& after) {
  for (const auto& [name, arrays] : before) {
    for (size_t a = 0; a < arrays.size(); ++a) {
      if (arrays[a] == after.at(name)[a]) continue;
      for (size_t i = 0; i < arrays[a].size(); ++i) {
        if (arrays[a][i] == after.at(name)[a][i]) continue;
        const bool declared = std::any_of(task.writes.begin(), task.writes.end(), [&, name = name](const auto& r) {
          return graph.name_of(r.memory) == name && r.begin <= i && i < r.end;
        });
        if (!declared) return name;
      }
    }
  }
  return "";
}

class EverySynchroniser : public testing::TestWithParam<Kind> {};

TEST_P(EverySynchroniser, GivesTheSameBitsOnAnyTiming) {
  for (const auto& [devices, learners] : {std::pair{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}}) {
    const Result calm = train(GetParam(), devices, learners, {});
    for (int repetition = 0; repetition < 3; ++repetition) {
      EXPECT_TRUE(calm == train(GetParam(), devices, learners, {1, 300})) << devices << " x " << learners;
    }
  }
}

TEST_P(EverySynchroniser, GivesTheSameBitsWithMoreThreads) {
  EXPECT_TRUE(train(GetParam(), 1, 2, {1, 0}) == train(GetParam(), 1, 2, {2, 0}));
}

TEST_P(EverySynchroniser, GivesTheSameBitsWhereNormsAreMeasured) {
  for (const OptimiserOptions& optimiser : kMeasuring) {
    SCOPED_TRACE(to_string(optimiser));
    for (const auto& [devices, learners] : {std::pair{1, 1}, {1, 3}, {2, 2}}) {
      SyntheticLearners::Options options{1, 0, false, nullptr, optimiser};
      const Result calm = train(GetParam(), devices, learners, options);
      for (const std::vector<float>& array : calm.arrays)
        for (const float x : array) ASSERT_TRUE(std::isfinite(x));
      options.longest_sleep_us = 200;
      EXPECT_TRUE(calm == train(GetParam(), devices, learners, options)) << devices << " x " << learners;
    }
    EXPECT_TRUE(train(GetParam(), 1, 2, {1, 0, false, nullptr, optimiser}) ==
                train(GetParam(), 1, 2, {2, 0, false, nullptr, optimiser}));
  }
}

// A task changes no array of a learner that it does not declare as written: nothing else would protect it.
TEST_P(EverySynchroniser, TasksWriteOnlyWhatTheyDeclare) {
  for (const OptimiserOptions& optimiser :
       {momentum_sgd(), optimiser_of(OptimiserKind::adam), optimiser_of(OptimiserKind::lamb, 3),
        optimiser_of(OptimiserKind::lars, 3, 0.4)}) {
    SCOPED_TRACE(to_string(optimiser));
    for (const auto& [devices, per_device] : {std::pair{1, 2}, {2, 2}}) {
      SyntheticLearners learners(devices, per_device, {1, 0, false, nullptr, optimiser});
      const auto collective = make_local_collective();
      const auto synchroniser = make(GetParam(), learners.view(), *collective);
      TaskGraph graph;
      synchroniser->add_tasks(graph);
      for (const int64_t t : {0, 11}) {  // the second one synchronises
        for (const Task& task : graph.tasks()) {
          if (task.level > graph.level_of(t)) continue;
          const Snapshot before = snapshot(learners);
          task.run(t);
          ASSERT_EQ(undeclared_write(graph, task, before, snapshot(learners)), "") << task.name;
        }
      }
    }
  }
}

TEST_P(EverySynchroniser, StopsAtAFailureAndNamesTheTask) {
  for (const auto& [devices, learners] : {std::pair{1, 2}, {2, 2}}) {
    SyntheticLearners synthetic(devices, learners, {1, 50});
    const auto collective = make_local_collective();
    const auto synchroniser = make(GetParam(), synthetic.view(), *collective);
    const auto runner = make_runner(*synchroniser);
    synthetic.fail_at(1, 4);
    try {
      run(*runner, 1000);
      FAIL();
    } catch (const Error& e) {
      EXPECT_STREQ(e.what(), "learn 1: the loss is not finite");
    }
    EXPECT_LT(runner->next_iteration(), 20);  // it was noticed soon
  }
}

INSTANTIATE_TEST_SUITE_P(Synchroniser, EverySynchroniser,
                         testing::Values(Kind::none, Kind::ssgd, Kind::sma, Kind::sma_every_third, Kind::easgd,
                                         Kind::local, Kind::post_local, Kind::hierarchical, Kind::slowmo,
                                         Kind::diloco));

class CountingDevice : public RecordingDevice {
 public:
  size_t bytes = 0;
  DeviceMemory allocate(size_t n) override {
    bytes += n;
    return RecordingDevice::allocate(n);
  }
};

TEST(Synchroniser, WhatADeviceKeepsIsKnownBeforeItIsMade) {
  TrainerOptions options;
  options.optimiser.kind = OptimiserKind::adam;  // two states
  options.local.states = options.diloco.states = StatesAtSync::average;
  for (const SyncKind kind : {SyncKind::none, SyncKind::ssgd, SyncKind::sma, SyncKind::easgd, SyncKind::local,
                              SyncKind::hierarchical, SyncKind::slowmo, SyncKind::diloco}) {
    for (const int devices : {1, 2, 3}) {
      CountingDevice device;
      options.sync = kind;
      options.devices = devices;
      SyntheticLearners learners(devices, 2, {1, 0, false, &device, options.optimiser});
      const auto collective = make_local_collective();
      const auto synchroniser = make_synchroniser(options, learners.view(), *collective);
      EXPECT_EQ(device.bytes, static_cast<size_t>(devices * synchroniser_arrays(options) * kParameters) * sizeof(float))
          << "kind " << static_cast<int>(kind) << ", " << devices << " devices";
    }
  }
}

TEST(None, LearnersAreIndependent) {
  SyntheticLearners learners(1, 2, {});
  const auto none = make_none(learners.view());
  run(*make_runner(*none), 9);
  const ModelView model = none->evaluated();
  EXPECT_EQ(copy_of(model.weights, kParameters), learners.weights(0));
  EXPECT_EQ(copy_of(model.statistics, kStatistics), learners.statistics(0));
  for (int64_t i = 0; i < kParameters; ++i) {
    for (size_t j = 0; j < 2; ++j) {
      double w = initial_weight(i);
      double v = 0;
      for (int64_t t = 0; t < 9; ++t) {
        v = kMomentum * v + 0.5 * (w - target(i, j, t));
        w -= kLearningRate * v;
      }
      ASSERT_NEAR(learners.weights(j)[static_cast<size_t>(i)], w, 1e-5);
    }
  }
}

TEST(Ssgd, EqualsOneLearnerWithTheMeanGradient) {
  for (const auto& [devices, learners_per_device] : {std::pair{1, 1}, {1, 2}, {1, 5}, {2, 1}, {2, 2}, {3, 2}}) {
    SyntheticLearners learners(devices, learners_per_device, {});
    const size_t k = learners.view().count();
    const auto collective = make_local_collective();
    const auto ssgd = make_ssgd(learners.view(), *collective);
    const auto runner = make_runner(*ssgd);
    run(*runner, 8);
    ssgd->restart({});
    run(*runner, 9);
    for (size_t j = 1; j < k; ++j) EXPECT_EQ(learners.weights(j), learners.weights(0));
    EXPECT_EQ(copy_of(ssgd->evaluated().weights, kParameters), learners.weights(0));
    for (int64_t i = 0; i < kParameters; ++i) {
      double w = initial_weight(i);
      double v = 0;
      for (int64_t t = 0; t < 17; ++t) {
        if (t == 8) v = 0;
        double g = 0;
        for (size_t j = 0; j < k; ++j) g += 0.5 * (w - target(i, j, t));
        v = kMomentum * v + g / static_cast<double>(k);
        w -= kLearningRate * v;
      }
      ASSERT_NEAR(learners.weights(0)[static_cast<size_t>(i)], w, 1e-5) << devices << " x " << learners_per_device;
    }
  }
}

double norm(const std::vector<double>& x, size_t begin, size_t end) {
  double squares = 0;
  for (size_t i = begin; i < end; ++i) squares += x[i] * x[i];
  return std::sqrt(squares);
}

// The mean gradient of k equal learners at w, clipped to a norm over all parameters.
std::vector<double> clipped_mean_gradient(const std::vector<double>& w, size_t k, int64_t t, double clip_norm) {
  std::vector<double> g(w.size());
  for (size_t i = 0; i < w.size(); ++i)
    for (size_t j = 0; j < k; ++j)
      g[i] += 0.5 * (w[i] - target(static_cast<int64_t>(i), j, t)) / static_cast<double>(k);
  const double scale = clip_norm > 0 ? std::min(1.0, clip_norm / (norm(g, 0, g.size()) + 1e-6)) : 1;
  for (double& x : g) x *= scale;
  return g;
}

constexpr std::pair<int, int> kGroups[] = {{1, 1}, {1, 2}, {1, 5}, {2, 1}, {2, 2}, {3, 2}};

TEST(None, ClipsTheNormOfEachLearner) {
  OptimiserOptions optimiser = momentum_sgd();
  optimiser.clip_norm = 3;
  SyntheticLearners learners(1, 2, {1, 0, false, nullptr, optimiser});
  const auto none = make_none(learners.view());
  run(*make_runner(*none), 9);
  for (size_t j = 0; j < 2; ++j) {
    std::vector<double> w, v(kParameters), g(kParameters);
    for (int64_t i = 0; i < kParameters; ++i) w.push_back(initial_weight(i));
    for (int64_t t = 0; t < 9; ++t) {
      for (size_t i = 0; i < w.size(); ++i) g[i] = 0.5 * (w[i] - target(static_cast<int64_t>(i), j, t));
      const double scale = std::min(1.0, 3 / (norm(g, 0, g.size()) + 1e-6));
      for (size_t i = 0; i < w.size(); ++i) {
        v[i] = kMomentum * v[i] + scale * g[i];
        w[i] -= kLearningRate * v[i];
      }
    }
    EXPECT_THAT(learners.weights(j), testing::Pointwise(testing::DoubleNear(1e-5), w));
  }
}

TEST(Ssgd, ClipsTheNormOfTheMeanGradient) {
  constexpr double kNorm = 3;  // of about 18 at first
  for (const auto& [devices, per_device] : kGroups) {
    OptimiserOptions optimiser = momentum_sgd();
    optimiser.clip_norm = kNorm;
    SyntheticLearners learners(devices, per_device, {1, 0, false, nullptr, optimiser});
    const size_t k = learners.view().count();
    const auto collective = make_local_collective();
    const auto ssgd = make_ssgd(learners.view(), *collective);
    run(*make_runner(*ssgd), 12);
    std::vector<double> w, v(kParameters);
    for (int64_t i = 0; i < kParameters; ++i) w.push_back(initial_weight(i));
    for (int64_t t = 0; t < 12; ++t) {
      const std::vector<double> g = clipped_mean_gradient(w, k, t, kNorm);
      for (size_t i = 0; i < w.size(); ++i) {
        v[i] = kMomentum * v[i] + g[i];
        w[i] -= kLearningRate * v[i];
      }
    }
    for (size_t j = 0; j < k; ++j)
      EXPECT_THAT(learners.weights(j), testing::Pointwise(testing::DoubleNear(1e-5), w))
          << devices << "x" << per_device;
  }
}

// You et al. 2020, algorithm 2, for two tensors.
TEST(Ssgd, WithLamb) {
  constexpr double kDecay = 0.1, kEpsilon = 0.01;
  constexpr std::pair<size_t, size_t> kTensors[] = {{0, kSecondTensor}, {kSecondTensor, kParameters}};
  for (const double clip_norm : {0.0, 3.0}) {
    for (const auto& [devices, per_device] : kGroups) {
      OptimiserOptions optimiser = optimiser_of(OptimiserKind::lamb, clip_norm);
      optimiser.weight_decay = kDecay;
      optimiser.epsilon = kEpsilon;
      SyntheticLearners learners(devices, per_device, {1, 0, false, nullptr, optimiser});
      const size_t k = learners.view().count();
      const auto collective = make_local_collective();
      const auto ssgd = make_ssgd(learners.view(), *collective);
      run(*make_runner(*ssgd), 12);
      std::vector<double> w, m(kParameters), v(kParameters), r(kParameters);
      for (int64_t i = 0; i < kParameters; ++i) w.push_back(initial_weight(i));
      for (int t = 0; t < 12; ++t) {
        const std::vector<double> g = clipped_mean_gradient(w, k, t, clip_norm);
        for (size_t i = 0; i < w.size(); ++i) {
          m[i] = 0.9 * m[i] + 0.1 * g[i];
          v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
          r[i] = m[i] / (1 - std::pow(0.9, t + 1)) / (std::sqrt(v[i] / (1 - std::pow(0.999, t + 1))) + kEpsilon) +
                 kDecay * w[i];
        }
        for (const auto& [begin, end] : kTensors) {
          const double ratio = norm(w, begin, end) / norm(r, begin, end);
          for (size_t i = begin; i < end; ++i) w[i] -= kLearningRate * ratio * r[i];
        }
      }
      for (size_t j = 0; j < k; ++j)
        EXPECT_THAT(learners.weights(j), testing::Pointwise(testing::DoubleNear(1e-5), w))
            << devices << "x" << per_device << ", norm " << clip_norm;
    }
  }
}

// The second pass reads the factor that the first one found.
TEST(Ssgd, MeasuringDeclaresTheFactorOfTheNorm) {
  SyntheticLearners learners(1, 2, {1, 0, false, nullptr, optimiser_of(OptimiserKind::lamb, 3)});
  const auto collective = make_local_collective();
  const auto ssgd = make_ssgd(learners.view(), *collective);
  TaskGraph graph;
  ssgd->add_tasks(graph);
  const size_t factor = 2 * static_cast<size_t>(learners.view().optimiser->block_count()) * sizeof(double);
  int found = 0, gathered = 0;
  for (const Task& task : graph.tasks()) {
    if (task.name == "gather") ++gathered;
    if (!task.name.starts_with("measure") || gathered == 0) continue;
    ++found;
    EXPECT_TRUE(std::any_of(task.reads.begin(), task.reads.end(), [&](const MemoryRange& r) {
      return graph.name_of(r.memory) == "measures" && r.begin <= factor && factor + sizeof(double) <= r.end;
    })) << task.name;
  }
  EXPECT_EQ(found, 2);
}

TEST(Ssgd, StatisticsAreAveraged) {
  SyntheticLearners learners(1, 2, {});
  const auto collective = make_local_collective();
  const auto ssgd = make_ssgd(learners.view(), *collective);
  run(*make_runner(*ssgd), 3);
  EXPECT_THAT(copy_of(ssgd->evaluated().statistics, kStatistics), testing::ElementsAre(70, 71, 72, 73, 74));
}

}  // namespace
}  // namespace arbalest
