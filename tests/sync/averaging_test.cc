// The algorithms that average models now and then, each against its equations in double precision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sync/synthetic_learners.h"

namespace arbalest {
namespace {

using Vector = std::vector<double>;

double mean(const Vector& x, size_t begin, size_t end) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += x[i];
  return sum / static_cast<double>(end - begin);
}
double mean(const Vector& x) { return mean(x, 0, x.size()); }

constexpr double kEpsilon = 0.01;  // of Adam; large enough not to blow up the rounding of small gradients

OptimiserOptions adam() {
  OptimiserOptions o;
  o.kind = OptimiserKind::adam;
  o.epsilon = kEpsilon;
  return o;
}

// One element of all learners: weights w and the optimiser's states v and s, which are `age` steps old. A case says
// what happens beside the learners' own steps.
struct Element {
  Vector w, v, s;
  int64_t age = 0;
  bool adam = false;  // or SGD with momentum
  double z, u = 0;    // of the centre, where there is one
  Element(size_t k, double start, bool by_adam) : w(k, start), v(k, 0), s(k, 0), adam(by_adam), z(start) {}
  void local_steps(int64_t i, int64_t t) {
    ++age;
    for (size_t j = 0; j < w.size(); ++j) {
      const double g = 0.5 * (w[j] - target(i, j, t));
      if (adam) {
        const auto n = static_cast<double>(age);
        v[j] = 0.9 * v[j] + 0.1 * g;
        s[j] = 0.999 * s[j] + 0.001 * g * g;
        w[j] -=
            kLearningRate * (v[j] / (1 - std::pow(0.9, n))) / (std::sqrt(s[j] / (1 - std::pow(0.999, n))) + kEpsilon);
      } else {
        v[j] = kMomentum * v[j] + g;
        w[j] -= kLearningRate * v[j];
      }
    }
  }
  void all_at(double x) { w.assign(w.size(), x); }
  void clear_states() {
    v.assign(v.size(), 0);
    s.assign(s.size(), 0);
    age = 0;
  }
  // All parts of RestartParts.
  void restart(double evaluated) {
    all_at(evaluated);
    z = evaluated;
    u = 0;
    clear_states();
  }
};

using Iterate = std::function<void(Element& e, int64_t i, int64_t t)>;
using Evaluated = std::function<double(const Element& e)>;
double centre(const Element& e) { return e.z; }
double mean_of_all(const Element& e) { return mean(e.w); }

// Runs the synchroniser and the reference side by side, with a restart after 23 iterations: between two
// synchronisations.
template <class Make>
void expect_equal(int devices, int learners_per_device, const Make& make, const Iterate& iterate,
                  const Evaluated& evaluated, const OptimiserOptions& optimiser = momentum_sgd()) {
  SCOPED_TRACE(std::to_string(devices) + " devices x " + std::to_string(learners_per_device));
  SyntheticLearners::Options options;
  options.optimiser = optimiser;
  const bool adam = optimiser.kind == OptimiserKind::adam;
  SyntheticLearners learners(devices, learners_per_device, options);
  const size_t k = learners.view().count();
  const auto collective = make_local_collective();
  const std::unique_ptr<Synchroniser> synchroniser = make(learners.view(), *collective);
  const auto runner = make_runner(*synchroniser);
  std::vector<Element> elements;
  for (int64_t i = 0; i < kParameters; ++i) elements.emplace_back(k, initial_weight(i), adam);
  int64_t t = 0;
  for (const int iterations : {7, 1, 0, 15, 9}) {
    run(*runner, iterations);
    const float* model = synchroniser->evaluated().weights;
    for (int64_t i = 0; i < kParameters; ++i) {
      Element& e = elements[static_cast<size_t>(i)];
      for (int64_t s = t; s < t + iterations; ++s) iterate(e, i, s);
      ASSERT_NEAR(model[i], evaluated(e), 1e-5) << "element " << i << " after " << t + iterations << " iterations";
      for (size_t j = 0; j < k; ++j) {
        ASSERT_NEAR(learners.weights(j)[static_cast<size_t>(i)], e.w[j], 1e-5) << "learner " << j << ", element " << i;
        ASSERT_NEAR(learners.momentum(j)[static_cast<size_t>(i)], e.v[j], 1e-5) << "learner " << j << ", element " << i;
        if (!adam) continue;
        ASSERT_NEAR(learners.state(j, 1)[static_cast<size_t>(i)], e.s[j], 1e-5) << "learner " << j << ", element " << i;
      }
      if (iterations == 15) e.restart(evaluated(e));
    }
    t += iterations;
    if (iterations == 15) learners.restart(*synchroniser, {}, t);
  }
}

constexpr std::pair<int, int> kSizes[] = {{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}};

// Zhang et al. 2015, equations 2 and 3, and the communication period of algorithm 1.
TEST(Easgd, EqualsThePaper) {
  for (const auto& [devices, learners] : kSizes) {
    for (const int64_t tau : {1, 3}) {
      const double k = devices * learners;
      const double alpha = 0.9 / k;
      expect_equal(
          devices, learners,
          [&](const Learners& l, Collective& c) {
            return make_easgd(l, c, {{}, tau});
          },
          [&](Element& e, int64_t i, int64_t t) {
            const Vector x = e.w;
            const double beta = k * alpha;
            e.local_steps(i, t);
            if (t % tau != tau - 1) return;
            for (size_t j = 0; j < x.size(); ++j) e.w[j] -= alpha * (x[j] - e.z);
            e.z = (1 - beta) * e.z + beta * mean(x);
          },
          centre);
    }
  }
}

TEST(Easgd, RefusesWhatIsUnstable) {
  EXPECT_DOUBLE_EQ(sma_alpha(as_sma({}, 3), 3), 0.3);
  EXPECT_NO_THROW(sma_alpha(as_sma({0.49, 1}, 3), 3));  // the bound is 2 / (3 + 1)
  EXPECT_THROW(as_sma({0.0, 1}, 3), Error);
  try {
    as_sma({0.5, 1}, 3);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::usage);
    EXPECT_STREQ(e.what(),
                 "alpha 0.5: EA-SGD is stable only between 0 and 0.5 for 3 learners; leave it out for 0.9 / learners");
  }
}

void settle_states(Element& e, StatesAtSync what, size_t begin, size_t end) {
  const double average = mean(e.v, begin, end);
  for (size_t j = begin; j < end; ++j) {
    if (what == StatesAtSync::average) e.v[j] = average;
    if (what == StatesAtSync::clear) e.v[j] = e.s[j] = 0;
  }
  if (what == StatesAtSync::clear) e.age = 0;
}

constexpr StatesAtSync kStatesAtSync[] = {StatesAtSync::keep, StatesAtSync::average, StatesAtSync::clear};

// Stich 2019, algorithm 1; Lin et al. 2020 for a tau that grows.
TEST(LocalSgd, EqualsThePaper) {
  for (const auto& [devices, learners] : kSizes) {
    for (const StatesAtSync states : kStatesAtSync) {
      for (const char* text : {"1", "4", "1,5:3"}) {
        const TauSchedule tau = TauSchedule::parse(text);
        expect_equal(
            devices, learners,
            [&](const Learners& l, Collective& c) {
              return make_local(l, c, {tau, states});
            },
            [&](Element& e, int64_t i, int64_t t) {
              e.local_steps(i, t);
              if (!tau.synchronises(t)) return;
              e.all_at(mean(e.w));
              settle_states(e, states, 0, e.w.size());
            },
            mean_of_all);
      }
    }
  }
}

// Lin et al. 2020, hierarchical local SGD: H local steps between averagings of a block, H^b of those between global
// ones.
TEST(Hierarchical, EqualsThePaper) {
  for (const auto& [devices, learners] : kSizes) {
    const auto m = static_cast<size_t>(learners);
    for (const StatesAtSync states : kStatesAtSync) {
      expect_equal(
          devices, learners,
          [&](const Learners& l, Collective& c) {
            return make_hierarchical(l, c, {2, 3, states});
          },
          [&](Element& e, int64_t i, int64_t t) {
            e.local_steps(i, t);
            const size_t k = e.w.size();
            const size_t block = (t + 1) % 6 == 0 ? k : m;
            for (size_t j = 0; (t + 1) % 2 == 0 && j < k; j += block) {
              std::fill_n(e.w.begin() + static_cast<std::ptrdiff_t>(j), block, mean(e.w, j, j + block));
              settle_states(e, states, j, j + block);
            }
          },
          mean_of_all);
    }
  }
}

// Where the states are cleared, Adam's correction of their bias begins anew too.
TEST(LocalSgd, WithAdam) {
  for (const auto& [devices, learners] : kSizes) {
    for (const StatesAtSync states : {StatesAtSync::keep, StatesAtSync::clear}) {
      expect_equal(
          devices, learners,
          [&](const Learners& l, Collective& c) {
            return make_local(l, c, {3, states});
          },
          [&](Element& e, int64_t i, int64_t t) {
            e.local_steps(i, t);
            if (t % 3 != 2) return;
            e.all_at(mean(e.w));
            settle_states(e, states, 0, e.w.size());
          },
          mean_of_all, adam());
    }
  }
}

TEST(Easgd, WithAdam) {
  for (const auto& [devices, learners] : kSizes) {
    const double alpha = 0.9 / (devices * learners);
    expect_equal(
        devices, learners, [&](const Learners& l, Collective& c) { return make_easgd(l, c, {}); },
        [&](Element& e, int64_t i, int64_t t) {
          const Vector x = e.w;
          e.local_steps(i, t);
          for (size_t j = 0; j < x.size(); ++j) e.w[j] -= alpha * (x[j] - e.z);
          e.z = 0.1 * e.z + 0.9 * mean(x);
        },
        centre, adam());
  }
}

TEST(Ssgd, WithAdam) {
  for (const auto& [devices, learners_per_device] : kSizes) {
    SyntheticLearners::Options options;
    options.optimiser = adam();
    SyntheticLearners learners(devices, learners_per_device, options);
    const size_t k = learners.view().count();
    const auto collective = make_local_collective();
    const auto ssgd = make_ssgd(learners.view(), *collective);
    const auto runner = make_runner(*ssgd);
    run(*runner, 8);
    learners.restart(*ssgd, {true, true, false}, 8);  // the states and their age stay
    run(*runner, 4);
    learners.restart(*ssgd, {}, 12);
    run(*runner, 5);
    for (int64_t i = 0; i < kParameters; ++i) {
      double w = initial_weight(i), m = 0, v = 0, age = 0;
      for (int64_t t = 0; t < 17; ++t) {
        if (t == 12) m = v = age = 0;
        double g = 0;
        for (size_t j = 0; j < k; ++j) g += 0.5 * (w - target(i, j, t)) / static_cast<double>(k);
        ++age;
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        w -= kLearningRate * (m / (1 - std::pow(0.9, age))) / (std::sqrt(v / (1 - std::pow(0.999, age))) + kEpsilon);
      }
      ASSERT_NEAR(learners.weights(k - 1)[static_cast<size_t>(i)], w, 1e-5) << devices << " x " << learners_per_device;
    }
  }
}

// Wang et al. 2020, algorithm 1.
TEST(SlowMo, EqualsThePaper) {
  constexpr double kAlpha = 0.8;
  constexpr double kBeta = 0.6;
  for (const auto& [devices, learners] : kSizes) {
    for (const StatesAtSync states : kStatesAtSync) {
      for (const int64_t tau : {1, 4}) {
        expect_equal(
            devices, learners,
            [&](const Learners& l, Collective& c) {
              return make_slowmo(l, c, {kAlpha, kBeta, tau, states});
            },
            [&](Element& e, int64_t i, int64_t t) {
              e.local_steps(i, t);
              if (t % tau != tau - 1) return;
              e.u = kBeta * e.u + (e.z - mean(e.w)) / kLearningRate;
              e.z -= kAlpha * kLearningRate * e.u;
              e.all_at(e.z);
              settle_states(e, states, 0, e.w.size());
            },
            mean_of_all);
      }
    }
  }
}

// Douillard et al. 2023, algorithm 1, with torch.optim.SGD(nesterov=True) as the outer optimiser.
TEST(Diloco, EqualsThePaper) {
  for (const auto& [devices, learners] : kSizes) {
    for (const int64_t tau : {1, 5}) {
      expect_equal(
          devices, learners,
          [&](const Learners& l, Collective& c) {
            return make_diloco(l, c, {0.7, 0.9, tau, StatesAtSync::keep});
          },
          [&](Element& e, int64_t i, int64_t t) {
            e.local_steps(i, t);
            if (t % tau != tau - 1) return;
            const double delta = e.z - mean(e.w);
            e.u = 0.9 * e.u + delta;
            e.z -= 0.7 * (delta + 0.9 * e.u);
            e.all_at(e.z);
          },
          mean_of_all);
    }
  }
}

// By hand: after two iterations that nobody synchronised, the model is the mean of what the learners reached; after the
// fourth it is what they continue from, to the bit.
TEST(OuterStep, EvaluatesTheMeanBetweenSynchronisations) {
  for (const auto& [devices, learners_per_device] : {std::pair{1, 3}, {3, 1}}) {
    for (const bool slowmo : {false, true}) {
      SyntheticLearners learners(devices, learners_per_device, {});
      const auto collective = make_local_collective();
      const auto outer = slowmo ? make_slowmo(learners.view(), *collective, {1, 0.5, 4, StatesAtSync::keep})
                                : make_diloco(learners.view(), *collective, {0.7, 0.9, 4, StatesAtSync::keep});
      const auto runner = make_runner(*outer);
      EXPECT_EQ(copy_of(outer->evaluated().weights, kParameters), learners.weights(2)) << "before the first iteration";
      run(*runner, 2);
      for (int64_t i = 0; i < kParameters; ++i) {
        double sum = 0;
        for (size_t j = 0; j < 3; ++j) {
          const double start = initial_weight(i);
          const double g = 0.5 * (start - target(i, j, 0));
          const double w = start - 0.1 * g;
          sum += w - 0.1 * (0.9 * g + 0.5 * (w - target(i, j, 1)));
        }
        ASSERT_NEAR(outer->evaluated().weights[i], sum / 3, 1e-6) << "element " << i;
      }
      run(*runner, 2);
      EXPECT_EQ(copy_of(outer->evaluated().weights, kParameters), learners.weights(0));
      EXPECT_EQ(copy_of(outer->evaluated().weights, kParameters), learners.weights(2));
    }
  }
}

// Between two synchronisations a restart continues from the mean; without its weights nothing moves.
TEST(OuterStep, ARestartBetweenSynchronisations) {
  for (const bool weights : {false, true}) {
    SyntheticLearners learners(1, 2, {});
    const auto collective = make_local_collective();
    const auto diloco = make_diloco(learners.view(), *collective, {0.7, 0.9, 4, StatesAtSync::keep});
    const auto runner = make_runner(*diloco);
    run(*runner, 6);
    const std::vector<float> before = copy_of(diloco->evaluated().weights, kParameters);
    const std::vector<float> first = learners.weights(0);
    diloco->restart({weights, false, false});
    EXPECT_EQ(copy_of(diloco->evaluated().weights, kParameters), before);
    EXPECT_EQ(learners.weights(0), weights ? before : first);
  }
}

TEST(OuterStep, RefusesWhatIsUnstable) {
  SyntheticLearners learners(1, 2, {});
  const auto collective = make_local_collective();
  const auto slowmo = [&](double rate, double momentum) {
    make_slowmo(learners.view(), *collective, {rate, momentum, 4, StatesAtSync::keep});
  };
  const auto diloco = [&](double rate, double momentum) {
    make_diloco(learners.view(), *collective, {rate, momentum, 4, StatesAtSync::keep});
  };
  EXPECT_NO_THROW(slowmo(2.9, 0.5));
  EXPECT_THROW(slowmo(3, 0.5), Error);
  EXPECT_NO_THROW(diloco(1.49, 0.5));
  EXPECT_THROW(diloco(1.5, 0.5), Error);
  EXPECT_NO_THROW(diloco(1, 0));
  for (const double wrong : {0.0, -1.0, std::nan("")}) {
    EXPECT_THROW(slowmo(wrong, 0.5), Error);
    EXPECT_THROW(diloco(wrong, 0.5), Error);
  }
  for (const double wrong : {1.0, -0.1, std::nan("")}) {
    EXPECT_THROW(slowmo(1, wrong), Error);
    EXPECT_THROW(diloco(1, wrong), Error);
  }
  EXPECT_THROW(make_hierarchical(learners.view(), *collective, {2, 0, StatesAtSync::keep}), Error);
}

// Where the mean of the learners stays at 0, z swings less and less just inside the bounds, more and more outside.
TEST(OuterStep, TheBoundsAreThoseOfTheRecurrence) {
  const auto size_after = [](double rate, double mu, bool nesterov) {
    double z = 1;
    double v = 0;
    for (int n = 0; n < 2000; ++n) {
      v = mu * v + z;
      z -= rate * (nesterov ? z + mu * v : v);
    }
    return std::abs(z) + std::abs(v);
  };
  for (const double mu : {0.0, 0.5, 0.9}) {
    for (const bool nesterov : {false, true}) {
      const double bound = 2 * (1 + mu) / (nesterov ? 1 + 2 * mu : 1);
      EXPECT_LT(size_after(0.98 * bound, mu, nesterov), 1) << mu << nesterov;
      EXPECT_GT(size_after(1.02 * bound, mu, nesterov), 10) << mu << nesterov;
    }
  }
}

// A failing learner leaves a model in which no share is a step ahead of the others.
TEST(OuterStep, AFailureLeavesAWholeModel) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    SyntheticLearners learners(2, 2, {1, 50});
    const auto collective = make_local_collective();
    const auto diloco = make_diloco(learners.view(), *collective, {0.7, 0.9, 1, StatesAtSync::keep});
    const auto runner = make_runner(*diloco);
    learners.fail_at(3, 6);
    EXPECT_THROW(run(*runner, 30), Error);
    SyntheticLearners calm(2, 2, {});
    const auto reference = make_diloco(calm.view(), *collective, {0.7, 0.9, 1, StatesAtSync::keep});
    const auto reference_runner = make_runner(*reference);
    run(*reference_runner, 5);
    const std::vector<float> before = copy_of(reference->evaluated().weights, kParameters);
    run(*reference_runner, 1);
    const std::vector<float> after = copy_of(reference->evaluated().weights, kParameters);
    EXPECT_THAT(copy_of(diloco->evaluated().weights, kParameters), testing::AnyOf(before, after));
    diloco->restart({});
    EXPECT_NO_THROW(run(*runner, 10));
  }
}

TEST(OuterStep, PartsOfARestart) {
  for (const bool centre_too : {false, true}) {
    SyntheticLearners learners(2, 1, {});
    const auto collective = make_local_collective();
    const auto diloco = make_diloco(learners.view(), *collective, {0.7, 0.9, 2, StatesAtSync::keep});
    const auto runner = make_runner(*diloco);
    run(*runner, 5);
    const std::vector<float> momentum = learners.momentum(1);
    diloco->restart({true, centre_too, false});
    EXPECT_EQ(learners.momentum(1), momentum);
    EXPECT_EQ(learners.weights(1), copy_of(diloco->evaluated().weights, kParameters));
    diloco->restart({false, centre_too, true});
    EXPECT_EQ(learners.momentum(1), std::vector<float>(kParameters, 0));
    const std::vector<float> z = copy_of(diloco->evaluated().weights, kParameters);
    run(*runner, 1);  // synchronises; without a memory z moves against its gradient alone
    bool moved_by_gradient = true;
    for (size_t i = 0; i < kParameters; ++i) {
      double w[2];
      for (size_t j = 0; j < 2; ++j) {
        w[j] = z[i] - kLearningRate * 0.5 * (z[i] - target(static_cast<int64_t>(i), j, 5));
      }
      const double delta = z[i] - (w[0] + w[1]) / 2;
      const double expected = z[i] - 0.7 * 1.9 * delta;
      moved_by_gradient &= std::abs(diloco->evaluated().weights[i] - expected) < 1e-5;
    }
    EXPECT_EQ(moved_by_gradient, centre_too);
  }
}

}  // namespace
}  // namespace arbalest
