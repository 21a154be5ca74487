#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sync/synthetic_learners.h"

namespace arbalest {
namespace {

// The formulas of sma.cc in double precision, for one element.
struct Reference {
  double alpha, mu;
  int64_t tau;
  std::vector<double> w, v;
  double z, z_previous;

  Reference(size_t k, double alpha_, double mu_, int64_t tau_, double start)
      : alpha(alpha_), mu(mu_), tau(tau_), w(k, start), v(k, 0), z(start), z_previous(start) {}

  void iterate(int64_t i, int64_t t) {
    const bool synchronise = t % tau == tau - 1;
    double z_next = z + mu * (z - z_previous);
    for (const double x : w) z_next += alpha * (x - z);
    for (size_t j = 0; j < w.size(); ++j) {
      v[j] = kMomentum * v[j] + 0.5 * (w[j] - target(i, j, t));
      w[j] -= kLearningRate * v[j] + (synchronise ? alpha * (w[j] - z) : 0);
    }
    if (synchronise) {
      z_previous = z;
      z = z_next;
    }
  }

  void restart() {
    w.assign(w.size(), z);
    v.assign(v.size(), 0);
    z_previous = z;
  }
};

struct SmaCase {
  int devices, learners;  // on each device
  double mu;
  int64_t tau;
};

void PrintTo(const SmaCase& c, std::ostream* out) {
  *out << c.devices << " x " << c.learners << ", mu " << c.mu << ", tau " << c.tau;
}

class SmaEqualsReference : public testing::TestWithParam<SmaCase> {};

TEST_P(SmaEqualsReference, WithARestart) {
  const SmaCase c = GetParam();
  const auto k = static_cast<size_t>(c.devices * c.learners);
  SyntheticLearners learners(c.devices, c.learners, {});
  const auto collective = make_local_collective();
  SmaOptions options;
  options.central_momentum = c.mu;
  options.tau = c.tau;
  const auto sma = make_sma(learners.view(), *collective, options);
  const auto runner = make_runner(*sma);
  std::vector<Reference> reference;
  for (int64_t i = 0; i < kParameters; ++i) {
    reference.emplace_back(k, sma_alpha(options, k), c.mu, c.tau, initial_weight(i));
  }
  int64_t t = 0;
  for (const int iterations : {7, 12, 1, 0, 10}) {
    run(*runner, iterations);
    const float* z = sma->evaluated().weights;
    for (int64_t i = 0; i < kParameters; ++i) {
      Reference& r = reference[static_cast<size_t>(i)];
      for (int64_t s = t; s < t + iterations; ++s) r.iterate(i, s);
      ASSERT_NEAR(z[i], r.z, 1e-5) << "element " << i << " after " << t + iterations << " iterations";
      for (size_t j = 0; j < k; ++j) {
        ASSERT_NEAR(learners.weights(j)[static_cast<size_t>(i)], r.w[j], 1e-5) << "learner " << j << ", element " << i;
      }
      if (iterations == 12) r.restart();
    }
    if (iterations == 12) sma->restart({});
    t += iterations;
  }
}

INSTANTIATE_TEST_SUITE_P(Sma, SmaEqualsReference,
                         testing::Values(SmaCase{1, 1, 0.9, 1}, SmaCase{1, 1, 0, 1}, SmaCase{1, 2, 0.9, 1},
                                         SmaCase{1, 2, 0, 1}, SmaCase{1, 4, 0.9, 1}, SmaCase{1, 4, 0, 1},
                                         SmaCase{2, 1, 0.9, 1}, SmaCase{2, 1, 0, 1}, SmaCase{2, 2, 0.9, 1},
                                         SmaCase{2, 2, 0, 1}, SmaCase{1, 1, 0.9, 2}, SmaCase{1, 2, 0.9, 2},
                                         SmaCase{1, 2, 0, 3}, SmaCase{1, 4, 0.9, 2}, SmaCase{2, 1, 0.9, 2},
                                         SmaCase{2, 2, 0.9, 2}));

TEST(Sma, StatisticsAreAveragedInTheEvaluatedModelOnly) {
  SyntheticLearners learners(1, 2, {});
  const auto collective = make_local_collective();
  const auto sma = make_sma(learners.view(), *collective, {});
  run(*make_runner(*sma), 3);
  EXPECT_THAT(copy_of(sma->evaluated().statistics, kStatistics), testing::ElementsAre(70, 71, 72, 73, 74));
  EXPECT_THAT(learners.statistics(0), testing::ElementsAre(20, 21, 22, 23, 24));
  EXPECT_THAT(learners.statistics(1), testing::ElementsAre(120, 121, 122, 123, 124));
}

TEST(Sma, RestartMakesAllReplicasTheCentralModel) {
  SyntheticLearners learners(2, 2, {});
  const auto collective = make_local_collective();
  const auto sma = make_sma(learners.view(), *collective, {});
  const auto runner = make_runner(*sma);
  run(*runner, 5);
  const std::vector<float> z = copy_of(sma->evaluated().weights, kParameters);
  EXPECT_NE(learners.weights(0), z);
  sma->restart({});
  EXPECT_EQ(copy_of(sma->evaluated().weights, kParameters), z);
  for (size_t j = 0; j < 4; ++j) {
    EXPECT_EQ(learners.weights(j), z);
    EXPECT_EQ(learners.momentum(j), std::vector<float>(kParameters, 0));
  }
}

// The learner fails before its update: the evaluated model is the one before or after that iteration's averaging,
// whole.
TEST(Sma, AFailureLeavesAWholeModel) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    SyntheticLearners learners(1, 3, {1, 50});
    const auto collective = make_local_collective();
    const auto sma = make_sma(learners.view(), *collective, {});
    const auto runner = make_runner(*sma);
    learners.fail_at(1, 6);
    try {
      run(*runner, 30);
      FAIL();
    } catch (const Error& e) {
      EXPECT_STREQ(e.what(), "learn 1: the loss is not finite");
    }
    const float* z = sma->evaluated().weights;
    double before = 0;
    double after = 0;
    for (int64_t i = 0; i < kParameters; ++i) {
      Reference r(3, 1.0 / 3, 0.9, 1, initial_weight(i));
      for (int64_t t = 0; t < 6; ++t) r.iterate(i, t);
      before = std::max(before, std::abs(z[i] - r.z));
      r.iterate(i, 6);
      after = std::max(after, std::abs(z[i] - r.z));
    }
    EXPECT_LT(std::min(before, after), 1e-5);
    sma->restart({});  // and training can go on
    EXPECT_NO_THROW(run(*runner, 10));
  }
}

TEST(Sma, AlphaWithinTheStableRange) {
  SmaOptions options;
  EXPECT_DOUBLE_EQ(sma_alpha(options, 4), 0.25);
  EXPECT_DOUBLE_EQ(sma_alpha(options, 1), 1);
  options.central_momentum = 0;
  EXPECT_DOUBLE_EQ(sma_alpha(options, 1), 0.5);
  options.alpha = 1;  // the bound 2 / (1 + 1)
  EXPECT_THROW(sma_alpha(options, 1), Error);
  options.alpha = 0.66;
  EXPECT_DOUBLE_EQ(sma_alpha(options, 2), 0.66);
  options.alpha = 0.67;  // the bound is 2 / 3
  try {
    sma_alpha(options, 2);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::usage);
    EXPECT_STREQ(
        e.what(),
        "alpha 0.67: SMA is stable only between 0 and 0.6667 for 2 learners and central momentum 0; leave it out "
        "for 1 / learners");
  }
  for (const SmaOptions& wrong :
       {SmaOptions{0.0, 0.9, 1}, SmaOptions{-0.1, 0.9, 1}, SmaOptions{{}, 1.0, 1}, SmaOptions{{}, -0.1, 1},
        SmaOptions{{}, std::nan(""), 1}, SmaOptions{std::nan(""), 0.9, 1}}) {
    EXPECT_THROW(sma_alpha(wrong, 2), Error);
  }
}

// Learners without gradients, at different places: their distances to z die out just inside the bound and grow just
// outside it.
TEST(Sma, TheBoundIsThatOfTheRecurrence) {
  const auto distance_after = [](double alpha, double mu, size_t k) {
    std::vector<double> w(k);
    for (size_t j = 0; j < k; ++j) w[j] = 1 + std::sin(static_cast<double>(j));
    double z = 0, previous = 0, distance = 0;
    for (int t = 0; t < 4000 && distance < 1e100; ++t) {
      double next = z + mu * (z - previous);
      for (double& x : w) {
        next += alpha * (x - z);
        x -= alpha * (x - z);
      }
      previous = z;
      z = next;
      distance = 0;
      for (const double x : w) distance += std::abs(x - z);
    }
    return distance;
  };
  for (const double mu : {0.0, 0.5, 0.9}) {
    for (size_t k = 1; k <= 8; ++k) {
      SCOPED_TRACE("mu " + std::to_string(mu) + ", " + std::to_string(k) + " learners");
      const double bound = 2 * (1 + mu) / (static_cast<double>(k) + 1 + mu);
      const SmaOptions inside{0.99 * bound, mu, 1}, outside{1.01 * bound, mu, 1};
      EXPECT_EQ(sma_alpha(inside, k), 0.99 * bound);
      EXPECT_THROW(sma_alpha(outside, k), Error);
      EXPECT_LT(distance_after(0.99 * bound, mu, k), 1e-3);
      EXPECT_GT(distance_after(1.01 * bound, mu, k), 1e3);
      EXPECT_LT(distance_after(sma_alpha({{}, mu, 1}, k), mu, k), 1e-3) << "the default";
    }
  }
}

// Each part of a restart alone, on learners that go on from it.
TEST(Sma, PartsOfARestart) {
  for (const RestartParts& parts : {RestartParts{true, false, false}, RestartParts{false, true, false},
                                    RestartParts{false, false, true}, RestartParts{false, false, false}}) {
    for (const int devices : {1, 2}) {
      SyntheticLearners learners(devices, 2, {});
      const auto k = static_cast<size_t>(2 * devices);
      const auto collective = make_local_collective();
      const auto sma = make_sma(learners.view(), *collective, {});
      const auto runner = make_runner(*sma);
      run(*runner, 5);
      sma->restart(parts);
      run(*runner, 4);
      for (int64_t i = 0; i < kParameters; ++i) {
        Reference r(k, 1 / static_cast<double>(k), 0.9, 1, initial_weight(i));
        for (int64_t t = 0; t < 5; ++t) r.iterate(i, t);
        if (parts.weights) r.w.assign(k, r.z);
        if (parts.centre) r.z_previous = r.z;
        if (parts.states) r.v.assign(k, 0);
        for (int64_t t = 5; t < 9; ++t) r.iterate(i, t);
        ASSERT_NEAR(sma->evaluated().weights[i], r.z, 1e-5);
        for (size_t j = 0; j < k; ++j) ASSERT_NEAR(learners.weights(j)[static_cast<size_t>(i)], r.w[j], 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace arbalest
