#include "sync/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>

namespace arbalest {
namespace {

using Curve = std::function<double(int learners, int threads)>;  // examples a second

// A machine whose throughput is a formula, with noise; remembers what was measured.
class SyntheticMachine {
 public:
  explicit SyntheticMachine(Curve curve, double noise = 0) : curve_(std::move(curve)), noise_(noise) {}

  Tuning tune(const TunerOptions& options) {
    return arbalest::tune(options, [this](Configuration c, int windows) { return measure(c, windows); });
  }

  size_t learner_bytes = 0, device_bytes = 0;
  double seconds = 0.4;      // a measurement
  int fails_from = 1 << 20;  // learners
  double outlier = 0;        // part of each measurement's first window that is lost
  std::map<Configuration, int> windows;

 private:
  Measurement measure(Configuration c, int count) {
    Measurement m{{}, seconds, learner_bytes, device_bytes};
    if (c.learners >= fails_from) return m;
    std::normal_distribution<double> noise(0, noise_);
    for (int i = 0; i < count; ++i) m.rates.push_back(curve_(c.learners, c.threads) * std::exp(noise(random_)));
    m.rates[0] *= 1 - outlier;
    windows[c] += count;
    return m;
  }

  Curve curve_;
  double noise_;
  std::mt19937 random_{7};
};

TunerOptions cores(int n) {
  TunerOptions o;
  o.cores = n;
  return o;
}

// "start 1x1, keep 1x2, settle 1x2"
std::string story(const Tuning& tuning) {
  std::string text;
  for (const Decision& d : tuning.decisions)
    text += (text.empty() ? "" : ", ") + std::string(name_of(d.verdict)) + " " +
            std::to_string(d.configuration.learners) + "x" + std::to_string(d.configuration.threads);
  return text;
}

double best_rate(const Curve& curve, int cores) {
  double best = 0;
  for (int k = 1; k <= cores; ++k)
    for (int t = 1; k * t <= cores; ++t) best = std::max(best, curve(k, t));
  return best;
}

double chosen_share(const Tuning& tuning, const Curve& curve, int cores) {
  return curve(tuning.chosen.learners, tuning.chosen.threads) / best_rate(curve, cores);
}

TEST(RateInterval, HoldsTheMedianAt95Percent) {
  const RateInterval six = rate_interval({3, 1, 2, 6, 5, 4});
  EXPECT_EQ(six.median, 3.5);
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  // Order statistics as in tables of the sign test: 10 values, the 2nd and the 9th; 18, the 5th and the 14th.
  std::vector<double> values{10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(rate_interval(values).low, 2);
  EXPECT_EQ(rate_interval(values).high, 9);
  for (int i = 11; i <= 18; ++i) values.push_back(i);
  EXPECT_EQ(rate_interval(values).low, 5);
  EXPECT_EQ(rate_interval(values).high, 14);
  EXPECT_EQ(rate_interval({8}).low, 8);
  EXPECT_EQ(rate_interval({}).windows, 0);

  std::mt19937 random(1);
  std::exponential_distribution<double> draw(1);
  for (const int n : {6, 12, 18}) {
    int holds = 0;
    for (int i = 0; i < 2000; ++i) {
      std::vector<double> sample;
      for (int j = 0; j < n; ++j) sample.push_back(draw(random));
      const RateInterval r = rate_interval(sample);
      if (r.low <= std::log(2.0) && std::log(2.0) <= r.high) ++holds;
    }
    EXPECT_GE(holds, 1880) << n;
  }
}

TEST(Tuner, TwoCores) {
  SyntheticMachine small([](int k, int t) { return k == 2 ? 1900 : t == 2 ? 1500 : 1000; });
  EXPECT_EQ(story(small.tune(cores(2))), "start 1x1, keep 1x2, keep 2x1, settle 2x1");
  SyntheticMachine threads([](int k, int t) { return k == 2 ? 1500 : t == 2 ? 1900 : 1000; });
  EXPECT_EQ(story(threads.tune(cores(2))), "start 1x1, keep 1x2, keep 2x1, settle 1x2");
  SyntheticMachine nothing([](int k, int t) { return k == 2 ? 990 : t == 2 ? 700 : 1000; });
  EXPECT_EQ(story(nothing.tune(cores(2))), "start 1x1, remove 1x2, remove 2x1, settle 1x1");
}

TEST(Tuner, OneCoreHasNothingToChoose) {
  SyntheticMachine machine([](int, int) { return 1; });
  const Tuning tuning = machine.tune(cores(1));
  EXPECT_EQ(tuning.chosen, (Configuration{1, 1}));
  EXPECT_TRUE(tuning.decisions.empty() && machine.windows.empty());
}

TEST(Tuner, EqualWithinNoiseIsFewerLearners) {
  SyntheticMachine machine([](int k, int t) { return k * t == 2 ? 1805.0 + 10 * k : 1000; }, 0.01);
  const Tuning tuning = machine.tune(cores(2));
  EXPECT_EQ(tuning.chosen, (Configuration{1, 2}));
  SyntheticMachine flat([](int, int) { return 1000; }, 0.01);
  EXPECT_EQ(flat.tune(cores(16)).chosen, (Configuration{1, 1}));
}

// Threads of a learner help little, learners help until the memory is busy.
TEST(Tuner, GrowsUntilThroughputSaturates) {
  const Curve curve = [](int k, int t) { return 1000 * std::min(6.0, k * std::pow(t, 0.3)); };
  SyntheticMachine machine(curve, 0.01);
  const Tuning tuning = machine.tune(cores(16));
  EXPECT_LE(tuning.chosen.learners, 6);
  EXPECT_GE(chosen_share(tuning, curve, 16), 0.95) << story(tuning);
  EXPECT_THAT(story(tuning), testing::HasSubstr("remove"));
}

TEST(Tuner, FindsAPeakBetweenDoublings) {
  for (int peak = 1; peak <= 16; ++peak) {
    const Curve curve = [peak](int k, int t) {
      return t > 1 ? 300.0 : 1000.0 * k / (1 + std::pow(k / (peak + 0.5), 8));
    };
    SyntheticMachine machine(curve);
    const Tuning tuning = machine.tune(cores(16));
    EXPECT_GE(chosen_share(tuning, curve, 16), 0.97) << peak << ": " << story(tuning);
  }
}

TEST(Tuner, TakesAllCoresWhereThatIsFastest) {
  const Curve learners = [](int k, int t) { return 1000 * k * std::pow(t, 0.5); };
  SyntheticMachine many(learners, 0.01);
  EXPECT_EQ(many.tune(cores(12)).chosen, (Configuration{12, 1}));
  const Curve threads = [](int k, int t) { return 1000 * std::pow(k, 0.3) * t; };
  SyntheticMachine team(threads, 0.01);
  EXPECT_EQ(team.tune(cores(12)).chosen, (Configuration{1, 12}));
  const Curve both = [](int k, int t) { return 1000 * k / (1 + 0.02 * k * k) * t / (1 + 0.01 * t * t); };
  SyntheticMachine mixed(both, 0.01);
  const Tuning tuning = mixed.tune(cores(64));
  EXPECT_GT(tuning.chosen.learners, 1);
  EXPECT_GT(tuning.chosen.threads, 1);
  EXPECT_GE(chosen_share(tuning, both, 64), 0.95) << story(tuning);
}

TEST(Tuner, SkipsThreadsThatCannotPay) {
  SyntheticMachine machine([](int k, int t) { return 1000 * k * std::pow(t, 0.2); });
  const Tuning tuning = machine.tune(cores(8));
  EXPECT_EQ(story(tuning),
            "start 1x1, keep 1x2, keep 1x4, keep 1x8, keep 2x1, keep 4x1, keep 8x1, skip 4x2, skip 2x4, settle 8x1");
  EXPECT_NEAR(tuning.decisions[7].gain, 0.5 * std::pow(2, 0.2) - 1, 1e-9);
  EXPECT_EQ(tuning.decisions[7].rate.windows, 0);
}

TEST(Tuner, StaysWithinMemory) {
  SyntheticMachine machine([](int k, int) { return 1000 * k; });
  machine.learner_bytes = 100;
  TunerOptions options = cores(8);
  options.threads = 1;
  options.memory = 599;
  const Tuning tuning = machine.tune(options);
  EXPECT_EQ(story(tuning), "start 1x1, keep 2x1, keep 4x1, no memory 8x1, no memory 6x1, keep 5x1, settle 5x1");
  EXPECT_EQ(tuning.decisions[3].learner_bytes, 100u);
  EXPECT_EQ(machine.windows.rbegin()->first.learners, 5) << "6 were made";
}

TEST(Tuner, KeepsMemoryForTheDeviceItself) {
  SyntheticMachine machine([](int k, int) { return 1000 * k; });
  machine.learner_bytes = 100;
  machine.device_bytes = 150;
  TunerOptions options = cores(8);
  options.threads = 1;
  options.memory = 599;
  const Tuning tuning = machine.tune(options);
  EXPECT_EQ(story(tuning), "start 1x1, keep 2x1, keep 4x1, no memory 8x1, no memory 6x1, no memory 5x1, settle 4x1");
  EXPECT_EQ(tuning.decisions[3].device_bytes, 150u);
  options.memory = 149;  // less than that: one learner, which keeps nothing of the kind
  EXPECT_EQ(machine.tune(options).chosen, (Configuration{1, 1}));
}

TEST(Tuner, WhatFailsIsNotChosen) {
  SyntheticMachine machine([](int k, int) { return 1000 * k; });
  machine.fails_from = 3;
  TunerOptions options = cores(4);
  options.threads = 1;
  EXPECT_EQ(story(machine.tune(options)), "start 1x1, keep 2x1, failed 4x1, failed 3x1, settle 2x1");
  machine.fails_from = 1;
  EXPECT_EQ(story(machine.tune(options)), "failed 1x1, settle 1x1");
}

TEST(Tuner, ObeysWhatIsGiven) {
  SyntheticMachine machine([](int k, int t) { return 1000 * k * t; });
  TunerOptions options = cores(8);
  options.threads = 3;
  EXPECT_EQ(story(machine.tune(options)), "start 1x3, keep 2x3, settle 2x3");
  options.threads = 9;
  EXPECT_EQ(machine.tune(options).chosen, (Configuration{1, 9}));
  options.threads = 0;
  options.most_learners = 1;
  EXPECT_EQ(story(machine.tune(options)), "start 1x1, keep 1x2, keep 1x4, keep 1x8, settle 1x8");
}

TEST(Tuner, AShortRunIsNotMeasuredFurther) {
  SyntheticMachine machine([](int k, int) { return 1000 * k; });
  TunerOptions options = cores(4);
  options.run_examples = 9000;
  const Tuning tuning = machine.tune(options);
  EXPECT_EQ(story(tuning), "short run 1x1, settle 1x1");
  EXPECT_EQ(machine.windows.at({1, 1}), 1);
  EXPECT_EQ(tuning.seconds, 0.4);
}

TEST(Tuner, TakesAShareOfTheRunsTime) {
  SyntheticMachine machine([](int k, int) { return 1000 * k; });
  TunerOptions options = cores(64);
  options.threads = 1;
  options.run_examples = 23000;  // 23 s with one learner: 1.15 s
  const Tuning tuning = machine.tune(options);
  EXPECT_EQ(story(tuning), "start 1x1, keep 2x1, no time 4x1, settle 2x1");
  EXPECT_NEAR(tuning.seconds, 1.2, 1e-9);
}

TEST(Tuner, MeasuresAgainInDoubtOnly) {
  SyntheticMachine clear([](int k, int t) { return k * t == 2 ? 1900 : 1000; }, 0.05);
  clear.tune(cores(2));
  EXPECT_EQ(clear.windows.at({1, 1}), 6);
  EXPECT_EQ(clear.windows.at({1, 2}), clear.windows.at({2, 1}));
  EXPECT_GT(clear.windows.at({1, 2}), 6) << "they are equal";
  SyntheticMachine disturbed([](int k, int t) { return k * t == 1 ? 1000 : k == 2 ? 1850 : 1900; }, 0.005);
  disturbed.outlier = 0.3;
  EXPECT_EQ(disturbed.tune(cores(2)).chosen, (Configuration{1, 2}));
}

// Amdahl's law with a cost of each thread, learners that share a memory, on 1 to 32 cores.
TEST(Tuner, EndsNearTheBestOnRandomMachines) {
  std::mt19937 random(3);
  const auto draw = [&random](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
  };
  double worst = 1;
  for (int i = 0; i < 300; ++i) {
    const int n = std::uniform_int_distribution<int>(1, 32)(random);
    const double serial = draw(0.005, 0.8), fork = draw(1e-4, 0.1), memory = draw(1, 64), learner = draw(1e-4, 0.05);
    const Curve curve = [=](int k, int t) {
      const double alone = 1 / (serial + (1 - serial) / t + fork * (t - 1));
      const double wanted = k * alone / (1 + learner * (k - 1));
      return 1000 * std::pow(std::pow(wanted, -4) + std::pow(memory, -4), -0.25);
    };
    SyntheticMachine machine(curve, 0.01);
    const Tuning tuning = machine.tune(cores(n));
    const double share = chosen_share(tuning, curve, n);
    worst = std::min(worst, share);
    EXPECT_GE(share, 0.95) << i << ", " << n << " cores: " << story(tuning);
    EXPECT_LE(tuning.chosen.learners * tuning.chosen.threads, n);
  }
  RecordProperty("worst", std::to_string(worst));
}

TEST(Tuner, SameMeasurementsSameDecisions) {
  const auto run = [] {
    SyntheticMachine machine([](int k, int t) { return 1000 * std::min(5.0, k * std::pow(t, 0.5)); }, 0.02);
    return story(machine.tune(cores(16)));
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace arbalest
