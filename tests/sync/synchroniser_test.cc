#include "sync/synchroniser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    result.arrays.push_back(learners.momentum(j));
  }
  const ModelView model = synchroniser->evaluated();
  result.arrays.push_back(copy_of(model.weights, kParameters));
  result.arrays.push_back(copy_of(model.statistics, kStatistics));
  return result;
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

TEST(Ssgd, StatisticsAreAveraged) {
  SyntheticLearners learners(1, 2, {});
  const auto collective = make_local_collective();
  const auto ssgd = make_ssgd(learners.view(), *collective);
  run(*make_runner(*ssgd), 3);
  EXPECT_THAT(copy_of(ssgd->evaluated().statistics, kStatistics), testing::ElementsAre(70, 71, 72, 73, 74));
}

}  // namespace
}  // namespace arbalest
