#include "exec/optimiser/sgd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "graph/base/error.h"

namespace arbalest {
namespace {

struct Case {
  double momentum;
  bool nesterov;
  double weight_decay;
  double weights[3];  // after four steps
};

// Weights that torch.optim.SGD (PyTorch 2, float64) gives from {1, -2, 0.5} with learning rate 0.1 and the gradients
// {0.3, -0.1, 0.2} times 1, 2, 3, 4.
const Case kTorchCases[] = {
    {0, false, 0, {0.69999999999999996, -1.8999999999999999, 0.29999999999999999}},
    {0, false, 0.1, {0.66358103999999996, -1.8221870299999998, 0.282288025}},
    {0.9, false, 0, {0.44323000000000001, -1.8144100000000001, 0.12881999999999993}},
    {0.9, false, 0.1, {0.35998223999999995, -1.6381379300000001, 0.088173774999999982}},
    {0.9, true, 0.1, {0.096284631083999997, -1.502019797063, -0.08280273794750008}},
};

template <class T>
std::vector<T> four_steps(const Case& c) {
  const Sgd sgd({c.momentum, c.nesterov, c.weight_decay});
  std::vector<T> weights = {1, -2, 0.5};
  std::vector<T> momentum(3, 0);
  for (int t = 1; t <= 4; ++t) {
    const std::vector<T> gradients = {T(0.3) * t, T(-0.1) * t, T(0.2) * t};
    UpdateArrays<T> arrays{weights.data(), gradients.data(), {momentum.data()}, nullptr};
    if (sgd.state_count() == 0) arrays.states[0] = nullptr;
    sgd.update(arrays, {0.1}, 0, 3);
  }
  return weights;
}

TEST(Sgd, EqualsTorch) {
  for (const Case& c : kTorchCases) {
    EXPECT_THAT(four_steps<double>(c), testing::Pointwise(testing::DoubleNear(1e-15), c.weights));
    EXPECT_THAT(four_steps<float>(c), testing::Pointwise(testing::FloatNear(3e-7f), c.weights));
  }
}

struct Model {
  std::vector<float> weights, gradients, momentum, average;
  explicit Model(size_t n) : weights(n), gradients(n), momentum(n), average(n) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    for (auto* array : {&weights, &gradients, &momentum, &average}) {
      for (float& x : *array) x = normal(random);
    }
  }
  UpdateArrays<float> at(int64_t i) {
    return {weights.data() + i, gradients.data() + i, {momentum.data() + i}, average.data() + i};
  }
};

TEST(Sgd, CorrectionUsesTheWeightsBeforeTheStep) {
  const Sgd sgd({0.9, true, 0.01});
  Model model(1003);
  const Model before = model;
  sgd.update(model.at(0), {0.1, 0.25}, 0, 1003);
  for (size_t i = 0; i < 1003; ++i) {
    const double d = before.gradients[i] + 0.01 * before.weights[i];
    const double v = 0.9 * before.momentum[i] + d;
    const double w = before.weights[i] - 0.1 * (d + 0.9 * v) - 0.25 * (before.weights[i] - double{before.average[i]});
    EXPECT_NEAR(model.momentum[i], v, 1e-6);
    EXPECT_NEAR(model.weights[i], w, 1e-6);
  }
}

TEST(Sgd, PartsGiveTheSameBits) {
  const Sgd sgd({0.9, false, 0.01, {{10, 100}, {130, 131}, {500, 5000}}});
  Model whole(1003);
  Model parts = whole;
  sgd.update(whole.at(0), {0.1, 0.5}, 0, 1003);
  const int64_t edges[] = {0, 1, 17, 64, 120, 130, 480, 777, 1003};
  for (size_t i = 0; i + 1 < std::size(edges); ++i) {
    sgd.update(parts.at(edges[i]), {0.1, 0.5}, edges[i], edges[i + 1]);
  }
  EXPECT_EQ(whole.weights, parts.weights);
  EXPECT_EQ(whole.momentum, parts.momentum);
}

TEST(Sgd, DecaysOnlyTheRangesGiven) {
  const Sgd sgd({0, false, 0.5, {{2, 4}, {7, 8}}});
  std::vector<float> weights(10, 1);
  const std::vector<float> gradients(10, 0);
  sgd.update({weights.data() + 1, gradients.data() + 1, {}, nullptr}, {1.0}, 1, 9);
  EXPECT_THAT(weights, testing::ElementsAre(1, 1, .5f, .5f, 1, 1, 1, .5f, 1, 1));
}

TEST(Sgd, RefusesWrongOptions) {
  EXPECT_THROW(Sgd({-0.1}), Error);
  EXPECT_THROW(Sgd({1.0}), Error);
  EXPECT_THROW(Sgd({std::nan("")}), Error);
  EXPECT_THROW(Sgd({0, true}), Error);
  EXPECT_THROW(Sgd({0.9, true, -1}), Error);
}

}  // namespace
}  // namespace arbalest
