#include "exec/optimiser/optimiser.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "graph/base/error.h"

namespace arbalest {
namespace {

OptimiserOptions optimiser_of(OptimiserKind kind, double weight_decay = 0, double momentum = 0) {
  OptimiserOptions o;
  o.kind = kind;
  o.weight_decay = weight_decay;
  o.momentum = momentum;
  return o;
}

OptimiserOptions nesterov() {
  OptimiserOptions o = optimiser_of(OptimiserKind::sgd, 0.1, 0.9);
  o.nesterov = true;
  return o;
}

OptimiserOptions dampened() {
  OptimiserOptions o = optimiser_of(OptimiserKind::sgd, 0.1, 0.9);
  o.dampening = 0.5;
  return o;
}

OptimiserOptions clipped(double norm, double value) {
  OptimiserOptions o = optimiser_of(OptimiserKind::sgd, 0, 0.9);
  o.clip_norm = norm;
  o.clip_value = value;
  return o;
}

// A learner of n parameters, in one or several segments.
template <class T>
struct ArraysOfLearner {
  std::vector<T> weights, gradients, first, second, average;
  std::vector<double> measures;

  explicit ArraysOfLearner(size_t n) : weights(n), gradients(n), first(n), second(n), average(n) {}

  UpdateArrays<T> at(const Optimiser& optimiser, int64_t i = 0) {
    UpdateArrays<T> arrays{weights.data() + i, gradients.data() + i};
    if (optimiser.state_count() > 0) arrays.states[0] = first.data() + i;
    if (optimiser.state_count() > 1) arrays.states[1] = second.data() + i;
    if (optimiser.passes() > 0) arrays.factors = optimiser.factors(measures.data());
    return arrays;
  }

  void step(const Optimiser& optimiser, const UpdateStep& step) {
    measures.resize(optimiser.measure_count());
    for (int pass = 0; pass < optimiser.passes(); ++pass) {
      optimiser.measure(pass, at(optimiser), step, measures.data(), 0, optimiser.block_count());
      optimiser.gather(pass, measures.data());
    }
    optimiser.update(at(optimiser), step, 0, static_cast<int64_t>(weights.size()));
  }
};

// From {1, -2, 0.5}, four steps with learning rate 0.1 and the gradients {0.3, -0.1, 0.2} times 1, 2, 3, 4.
template <class T>
std::vector<T> four_steps(const OptimiserOptions& options) {
  const Optimiser optimiser(options, {{{0, 3}, 1, options.weight_decay}});
  ArraysOfLearner<T> learner(3);
  learner.weights = {1, -2, 0.5};
  for (int t = 1; t <= 4; ++t) {
    learner.gradients = {T(0.3) * t, T(-0.1) * t, T(0.2) * t};
    learner.step(optimiser, {0.1, 0, t - 1});
  }
  return learner.weights;
}

struct TorchCase {
  const char* name;
  OptimiserOptions options;
  std::vector<double> weights;
};

// What the optimisers of torch.optim (PyTorch 2, float64) give.
const TorchCase kTorchCases[] = {
    {"SGD", optimiser_of(OptimiserKind::sgd), {0.7, -1.9, 0.3}},
    {"SGD decay", optimiser_of(OptimiserKind::sgd, 0.1), {0.66358104, -1.8221870299999998, 0.282288025}},
    {"SGD momentum", optimiser_of(OptimiserKind::sgd, 0, 0.9), {0.44323, -1.81441, 0.12881999999999993}},
    {"SGD both", optimiser_of(OptimiserKind::sgd, 0.1, 0.9), {0.35998223999999995, -1.63813793, 0.08817377499999998}},
    {"SGD Nesterov", nesterov(), {0.096284631084, -1.502019797063, -0.08280273794750008}},
    {"SGD dampening", dampened(), {0.61030443, -1.76698472875, 0.25051462812499997}},
    {"clip_grad_norm_(0.5)", clipped(0.5, 0), {0.6719299047518511, -1.89064330158395, 0.28128660316790066}},
    {"clip_grad_value_(0.35)", clipped(0, 0.35), {0.7004799999999999, -1.81941, 0.23487}},
    {"Adam", optimiser_of(OptimiserKind::adam, 0.1), {0.6072444702827982, -1.6002708727376547, 0.10783405617325692}},
    {"AdamW", optimiser_of(OptimiserKind::adamw, 0.1), {0.578085479399429, -1.5386815051190985, 0.0977874783293466}},
    {"Adagrad",
     optimiser_of(OptimiserKind::adagrad, 0.1),
     {0.6649214602509927, -1.6866666202395155, 0.16369731475594157}},
    {"RMSprop",
     optimiser_of(OptimiserKind::rmsprop, 0.1),
     {-2.278939856779524, 0.8932623684482858, -2.739879895914373}},
    {"RMSprop momentum",
     optimiser_of(OptimiserKind::rmsprop, 0.1, 0.9),
     {-6.669008377941951, 4.586334256608056, -6.940935840637029}},
};

TEST(Optimiser, EqualsTorch) {
  for (const TorchCase& c : kTorchCases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(four_steps<double>(c.options), testing::Pointwise(testing::DoubleNear(1e-13), c.weights));
    EXPECT_THAT(four_steps<float>(c.options), testing::Pointwise(testing::FloatNear(1e-5f), c.weights));
  }
}

double norm(const std::vector<double>& x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  return std::sqrt(squares);
}

// Two tensors, one of them longer than the pieces in which norms are summed, with a gap between them.
struct Tensor {
  size_t begin, size;
  double rate, decay;
};
constexpr Tensor kTensors[] = {{0, 3, 1, 0.1}, {16, 20000, 0.5, 0.02}};
constexpr size_t kAll = 20016;
constexpr double kRate = 0.1;

double first_weight(size_t i) { return 1.5 * std::cos(static_cast<double>(i)) + 0.1; }
// Not near zero, and mostly of the weight's sign: no decay cancels it, nothing jumps at a rounding.
double gradient_at(size_t i, int t) {
  const auto x = static_cast<double>(i);
  return 0.15 * t * std::copysign(1 + std::abs(std::sin(3 * x)), std::cos(x));
}

// clip_grad_norm_, then clip_grad_value_, of the tensors' gradients in step t.
std::vector<std::vector<double>> clipped_gradients(const OptimiserOptions& o, int t) {
  std::vector<std::vector<double>> gradients;
  double squares = 0;
  for (const Tensor& tensor : kTensors) {
    std::vector<double>& g = gradients.emplace_back();
    for (size_t i = 0; i < tensor.size; ++i) g.push_back(gradient_at(tensor.begin + i, t));
    squares += norm(g) * norm(g);
  }
  const double scale = o.clip_norm > 0 ? std::min(1.0, o.clip_norm / (std::sqrt(squares) + 1e-6)) : 1;
  for (std::vector<double>& g : gradients) {
    for (double& x : g) {
      x *= scale;
      if (o.clip_value > 0) x = std::clamp(x, -o.clip_value, o.clip_value);
    }
  }
  return gradients;
}

// The papers' equations in float64, after four steps: the weights of each tensor.
std::vector<std::vector<double>> reference(const OptimiserOptions& o) {
  std::vector<std::vector<double>> weights, first, second;
  for (const Tensor& tensor : kTensors) {
    std::vector<double>& w = weights.emplace_back();
    for (size_t i = 0; i < tensor.size; ++i) w.push_back(first_weight(tensor.begin + i));
    first.emplace_back(tensor.size);
    second.emplace_back(tensor.size);
  }
  for (int t = 1; t <= 4; ++t) {
    const std::vector<std::vector<double>> gradients = clipped_gradients(o, t);
    for (size_t n = 0; n < std::size(kTensors); ++n) {
      const double rate = kRate * kTensors[n].rate, decay = kTensors[n].decay;
      const std::vector<double>& g = gradients[n];
      std::vector<double>&w = weights[n], &m = first[n], &v = second[n], r(g.size());
      const double b1 = 0.9, b2 = o.kind == OptimiserKind::lion ? 0.99 : 0.999;
      const double trust = 0.001 * norm(w) / (norm(g) + decay * norm(w));
      for (size_t i = 0; i < g.size(); ++i) {
        if (o.kind == OptimiserKind::lars) m[i] = 0.9 * m[i] + rate * trust * (g[i] + decay * w[i]);
        if (o.kind == OptimiserKind::lion) {
          r[i] = std::copysign(1.0, b1 * m[i] + (1 - b1) * g[i]) + decay * w[i];
          m[i] = b2 * m[i] + (1 - b2) * g[i];
        }
        if (o.kind == OptimiserKind::lamb) {
          m[i] = b1 * m[i] + (1 - b1) * g[i];
          v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
          r[i] = m[i] / (1 - std::pow(b1, t)) / (std::sqrt(v[i] / (1 - std::pow(b2, t))) + 1e-6) + decay * w[i];
        }
        if (o.kind == OptimiserKind::adam_onnx) {  // onnx/docs/Operators.md, ai.onnx.preview.training.Adam, T = t
          const double x = decay * w[i] + g[i];
          m[i] = b1 * m[i] + (1 - b1) * x;
          v[i] = b2 * v[i] + (1 - b2) * x * x;
          r[i] = std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t)) * m[i] / (std::sqrt(v[i]) + 1e-6);
        }
      }
      const double scale = o.kind == OptimiserKind::lamb ? norm(w) / norm(r) : 1;
      for (size_t i = 0; i < g.size(); ++i) w[i] -= o.kind == OptimiserKind::lars ? m[i] : rate * scale * r[i];
    }
  }
  return weights;
}

template <class T>
std::vector<std::vector<double>> four_steps_of_tensors(const OptimiserOptions& options) {
  std::vector<ParameterSegment> segments;
  for (const Tensor& t : kTensors)
    segments.push_back({{static_cast<int64_t>(t.begin), static_cast<int64_t>(t.begin + t.size)}, t.rate, t.decay});
  const Optimiser optimiser(options, segments);
  ArraysOfLearner<T> learner(kAll);
  for (size_t i = 0; i < kAll; ++i) learner.weights[i] = static_cast<T>(first_weight(i));
  for (int t = 1; t <= 4; ++t) {
    for (size_t i = 0; i < kAll; ++i) learner.gradients[i] = 100;  // between the tensors: of nobody
    for (const Tensor& tensor : kTensors)
      for (size_t i = tensor.begin; i < tensor.begin + tensor.size; ++i)
        learner.gradients[i] = static_cast<T>(gradient_at(i, t));
    learner.step(optimiser, {kRate, 0, t - 1});
  }
  std::vector<std::vector<double>> weights;
  for (const Tensor& t : kTensors)
    weights.emplace_back(learner.weights.begin() + static_cast<std::ptrdiff_t>(t.begin),
                         learner.weights.begin() + static_cast<std::ptrdiff_t>(t.begin + t.size));
  return weights;
}

TEST(Optimiser, EqualsThePapers) {
  for (const OptimiserKind kind :
       {OptimiserKind::lars, OptimiserKind::lamb, OptimiserKind::lion, OptimiserKind::adam_onnx}) {
    for (const auto& [clip_norm, clip_value] : {std::pair{0.0, 0.0}, {5.0, 0.0}, {0.0, 0.2}, {20.0, 0.15}}) {
      SCOPED_TRACE(fmt::format("{}, clipped to norm {}, value {}", name_of(kind), clip_norm, clip_value));
      OptimiserOptions o = optimiser_of(kind, 0, kind == OptimiserKind::lars ? 0.9 : 0);
      o.clip_norm = clip_norm;
      o.clip_value = clip_value;
      const std::vector<std::vector<double>> expected = reference(o);
      const auto exact = four_steps_of_tensors<double>(o), rounded = four_steps_of_tensors<float>(o);
      for (size_t n = 0; n < std::size(kTensors); ++n) {
        EXPECT_THAT(exact[n], testing::Pointwise(testing::DoubleNear(1e-13), expected[n])) << "tensor " << n;
        EXPECT_THAT(rounded[n], testing::Pointwise(testing::DoubleNear(1e-5), expected[n])) << "tensor " << n;
      }
    }
  }
}

ArraysOfLearner<float> random_learner(size_t n) {
  ArraysOfLearner<float> learner(n);
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (auto* array : {&learner.weights, &learner.gradients, &learner.average})
    for (float& x : *array) x = normal(random);
  for (auto* moment : {&learner.first, &learner.second})
    for (float& x : *moment) x = std::abs(normal(random));
  return learner;
}

TEST(Optimiser, CorrectionUsesTheWeightsBeforeTheStep) {
  const Optimiser sgd(nesterov(), {});
  ArraysOfLearner<float> learner = random_learner(1003);
  const ArraysOfLearner<float> before = learner;
  UpdateArrays<float> arrays = learner.at(sgd);
  arrays.average = learner.average.data();
  sgd.update(arrays, {0.1, 0.25, 3}, 0, 1003);
  for (size_t i = 0; i < 1003; ++i) {
    const double d = before.gradients[i] + 0.1 * before.weights[i];
    const double v = 0.9 * before.first[i] + d;
    const double w = before.weights[i] - 0.1 * (d + 0.9 * v) - 0.25 * (before.weights[i] - double{before.average[i]});
    EXPECT_NEAR(learner.first[i], v, 1e-6);
    EXPECT_NEAR(learner.weights[i], w, 1e-6);
  }
}

TEST(Optimiser, PartsGiveTheSameBits) {
  for (int k = 0; k < 9; ++k) {
    const auto kind = static_cast<OptimiserKind>(k);
    SCOPED_TRACE(name_of(kind));
    OptimiserOptions options = optimiser_of(kind, 0.01);
    options.clip_norm = 0.7;
    const Optimiser optimiser(options, {{{10, 100}, 1, 0.5}, {{130, 131}, 0.1, 0}, {{500, 40000}, 2, 0.01}});
    ArraysOfLearner<float> whole = random_learner(40000);
    ArraysOfLearner<float> parts = whole;
    const UpdateStep step{0.1, 0, 2};
    whole.step(optimiser, step);
    parts.measures.resize(optimiser.measure_count());
    for (int pass = 0; pass < optimiser.passes(); ++pass) {
      for (int64_t b = optimiser.block_count() - 1; b >= 0; --b)
        optimiser.measure(pass, parts.at(optimiser), step, parts.measures.data(), b, b + 1);
      optimiser.gather(pass, parts.measures.data());
    }
    const int64_t edges[] = {0, 1, 17, 64, 120, 130, 480, 777, 40000};
    for (size_t i = 0; i + 1 < std::size(edges); ++i)
      optimiser.update(parts.at(optimiser, edges[i]), step, edges[i], edges[i + 1]);
    EXPECT_EQ(whole.weights, parts.weights);
    EXPECT_EQ(whole.first, parts.first);
    EXPECT_EQ(whole.second, parts.second);
  }
}

TEST(Optimiser, SegmentsHaveTheirOwnRateAndDecay) {
  const Optimiser sgd(optimiser_of(OptimiserKind::sgd), {{{2, 4}, 1, 0.5}, {{4, 7}, 3, 0}, {{7, 8}, 0.5, 1}});
  std::vector<float> weights(10, 1), gradients(10, 0.1f);
  sgd.update(UpdateArrays<float>{weights.data() + 1, gradients.data() + 1}, {1.0}, 1, 9);
  EXPECT_THAT(weights, testing::Pointwise(testing::FloatNear(1e-6f), {1., 1., .4, .4, .7, .7, .7, .45, 1., 1.}));
}

TEST(Optimiser, RefusesWrongOptions) {
  const auto make = [](const OptimiserOptions& o) { Optimiser(o, {}); };
  EXPECT_THROW(make(optimiser_of(OptimiserKind::sgd, 0, -0.1)), Error);
  EXPECT_THROW(make(optimiser_of(OptimiserKind::sgd, 0, 1.0)), Error);
  EXPECT_THROW(make(optimiser_of(OptimiserKind::sgd, 0, std::nan(""))), Error);
  EXPECT_THROW(make(optimiser_of(OptimiserKind::sgd, -1)), Error);
  EXPECT_THROW(make(optimiser_of(OptimiserKind::adam, 0, 0.9)), Error);
  OptimiserOptions o = nesterov();
  o.momentum = 0;
  EXPECT_THROW(make(o), Error);
  o = nesterov();
  o.kind = OptimiserKind::adam;
  EXPECT_THROW(make(o), Error);
  o = optimiser_of(OptimiserKind::adam);
  o.beta2 = 1;
  EXPECT_THROW(make(o), Error);
}

}  // namespace
}  // namespace arbalest
