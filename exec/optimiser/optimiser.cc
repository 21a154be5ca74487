#include "exec/optimiser/optimiser.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exec/optimiser/rules.h"
#include "graph/base/error.h"

namespace arbalest {
namespace {

constexpr int64_t kBlock = 16384;  // elements whose squares are summed at a time
constexpr const char* kOptimiserNames[] = {"sgd",     "adam", "adam-onnx", "adamw", "adagrad",
                                           "rmsprop", "lamb", "lars",      "lion"};

void check_options(const OptimiserOptions& o) {
  const auto check = [](const char* name, double value, bool good, const char* range) {
    if (!good) throw Error(ErrorKind::usage, "{} {}: must be {}", name, value, range);
  };
  const auto part = [&](const char* name, double value) {
    check(name, value, value >= 0 && value < 1, "at least 0 and less than 1");
  };
  const auto not_negative = [&](const char* name, double value) {
    check(name, value, value >= 0 && std::isfinite(value), "a number not below 0");
  };
  part("momentum", o.momentum);
  check("dampening", o.dampening, o.dampening >= 0 && o.dampening <= 1, "from 0 to 1");
  if (o.beta1) part("beta1", *o.beta1);
  if (o.beta2) part("beta2", *o.beta2);
  if (o.epsilon) not_negative("epsilon", *o.epsilon);
  not_negative("trust coefficient", o.trust);
  not_negative("weight decay", o.weight_decay);
  not_negative("gradient norm to clip at", o.clip_norm);
  not_negative("gradient value to clip at", o.clip_value);
  const bool takes_momentum =
      o.kind == OptimiserKind::sgd || o.kind == OptimiserKind::lars || o.kind == OptimiserKind::rmsprop;
  if (o.momentum != 0 && !takes_momentum)
    throw Error(ErrorKind::usage, "momentum {}: {} has none; see its beta1", o.momentum, name_of(o.kind));
  if (!o.nesterov) return;
  if (o.kind != OptimiserKind::sgd) throw Error(ErrorKind::usage, "nesterov: only sgd has it");
  if (o.momentum == 0) throw Error(ErrorKind::usage, "nesterov: needs a momentum; give one, for example 0.9");
  if (o.dampening != 0) throw Error(ErrorKind::usage, "nesterov: takes no dampening");
}

}  // namespace

const char* name_of(OptimiserKind kind) { return kOptimiserNames[static_cast<size_t>(kind)]; }

std::vector<std::string> optimiser_names() { return {std::begin(kOptimiserNames), std::end(kOptimiserNames)}; }

OptimiserKind optimiser_by_name(const std::string& name) {
  const auto at = std::find(std::begin(kOptimiserNames), std::end(kOptimiserNames), name);
  if (at == std::end(kOptimiserNames)) throw Error(ErrorKind::usage, "optimiser '{}' is not known", name);
  return static_cast<OptimiserKind>(at - std::begin(kOptimiserNames));
}

Optimiser::Optimiser(const OptimiserOptions& options, std::vector<ParameterSegment> segments)
    : options_(options), segments_(std::move(segments)) {
  check_options(options_);
  const bool short_memory = options_.kind == OptimiserKind::lion || options_.kind == OptimiserKind::rmsprop;
  if (!options_.beta1) options_.beta1 = 0.9;
  if (!options_.beta2) options_.beta2 = short_memory ? 0.99 : 0.999;
  if (!options_.epsilon) {
    const bool large = options_.kind == OptimiserKind::lamb || options_.kind == OptimiserKind::adam_onnx;
    options_.epsilon = large ? 1e-6 : options_.kind == OptimiserKind::adagrad ? 1e-10 : 1e-8;
  }
  if (segments_.empty()) {
    segments_.push_back({{0, std::numeric_limits<int64_t>::max()}, 1, options_.weight_decay});
    ensure(passes() == 0, "an optimiser that measures norms must know the parameters");
  }
  if (passes() == 0) return;
  for (size_t s = 0; s < segments_.size(); ++s) {
    const ElementRange whole = segments_[s].elements;
    for (int64_t i = whole.begin; i < whole.end; i += kBlock)
      blocks_.push_back({{i, std::min(i + kBlock, whole.end)}, s});
  }
}

int Optimiser::state_count() const {
  switch (options_.kind) {
    case OptimiserKind::sgd:
    case OptimiserKind::lars:
      return options_.momentum != 0 ? 1 : 0;
    case OptimiserKind::rmsprop:
      return options_.momentum != 0 ? 2 : 1;
    case OptimiserKind::adagrad:
    case OptimiserKind::lion:
      return 1;
    default:
      return 2;
  }
}

Coefficients Optimiser::coefficients(const UpdateStep& step, const double* factors, size_t segment) const {
  const OptimiserOptions& o = options_;
  const auto t = static_cast<double>(step.iteration + 1);
  Coefficients c;
  c.learning_rate = step.learning_rate * segments_[segment].rate;
  c.correction = step.correction;
  c.weight_decay = segments_[segment].weight_decay;
  c.momentum = o.momentum;
  c.fresh = step.iteration > 0 ? 1 - o.dampening : 1;
  c.nesterov = o.nesterov;
  c.beta1 = *o.beta1;
  c.beta2 = *o.beta2;
  c.epsilon = *o.epsilon;
  c.bias1 = 1 / (1 - std::pow(c.beta1, t));
  c.bias2 = 1 / std::sqrt(1 - std::pow(c.beta2, t));
  c.bound = o.clip_value > 0 ? o.clip_value : std::numeric_limits<double>::infinity();
  if (factors != nullptr) c.scale = factors[0];
  if (factors != nullptr) c.ratio = factors[1 + segment];
  return c;
}

template <class T>
void Optimiser::update(const UpdateArrays<T>& arrays, const UpdateStep& step, int64_t begin, int64_t end) const {
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), begin,
                                      [](int64_t i, const ParameterSegment& s) { return i < s.elements.end; });
  for (auto s = after; s != segments_.end() && s->elements.begin < end; ++s) {
    const int64_t first = std::max(begin, s->elements.begin), last = std::min(end, s->elements.end);
    UpdateArrays<T> a = arrays;
    a.weights += first - begin;
    a.gradients += first - begin;
    for (T*& state : a.states)
      if (state != nullptr) state += first - begin;
    if (a.average != nullptr) a.average += first - begin;
    const auto segment = static_cast<size_t>(s - segments_.begin());
    apply_rule(options_.kind, a, coefficients(step, arrays.factors, segment), last - first);
  }
}

template <class T>
void Optimiser::measure(int pass, const UpdateArrays<T>& arrays, const UpdateStep& step, double* measures,
                        int64_t first_block, int64_t last_block) const {
  for (int64_t b = first_block; b < last_block; ++b) {
    const Block& block = blocks_[static_cast<size_t>(b)];
    const int64_t i = block.elements.begin, n = block.elements.size();
    double* sums = measures + 2 * b;
    if (measures_clip(pass)) {
      sums[0] = sum_of_squares(arrays.gradients + i, n);
      continue;
    }
    sums[1] = sum_of_squares(arrays.weights + i, n);
    Coefficients c = coefficients(step, nullptr, block.segment);
    if (options_.clip_norm > 0) c.scale = factors(measures)[0];
    if (options_.kind == OptimiserKind::lars) {
      sums[0] = sum_of_clipped_squares(arrays.gradients + i, c, n);
    } else {
      const UpdateArrays<T> a{arrays.weights + i, arrays.gradients + i, {arrays.states[0] + i, arrays.states[1] + i}};
      lamb_direction(a, c, n);
      sums[0] = sum_of_squares(arrays.gradients + i, n);
    }
  }
}

void Optimiser::gather(int pass, double* measures) const {
  double* factors = measures + 2 * blocks_.size();
  if (pass == 0) std::fill_n(factors, 1 + segments_.size(), 1.0);
  if (measures_clip(pass)) {
    double squares = 0;
    for (size_t b = 0; b < blocks_.size(); ++b) squares += measures[2 * b];
    factors[0] = std::min(1.0, options_.clip_norm / (std::sqrt(squares) + 1e-6));
    return;
  }
  for (size_t b = 0; b < blocks_.size();) {
    const size_t segment = blocks_[b].segment;
    double squares = 0, weights = 0;
    for (; b < blocks_.size() && blocks_[b].segment == segment; ++b) {
      squares += measures[2 * b];
      weights += measures[2 * b + 1];
    }
    double direction = std::sqrt(squares);
    const double weight = std::sqrt(weights);
    double trust = 1;
    if (options_.kind == OptimiserKind::lars) {
      direction += segments_[segment].weight_decay * weight;
      trust = options_.trust;
    }
    factors[1 + segment] = direction > 0 && weight > 0 ? trust * weight / direction : 1;
  }
}

template void Optimiser::update(const UpdateArrays<float>&, const UpdateStep&, int64_t, int64_t) const;
template void Optimiser::update(const UpdateArrays<double>&, const UpdateStep&, int64_t, int64_t) const;
template void Optimiser::measure(int, const UpdateArrays<float>&, const UpdateStep&, double*, int64_t, int64_t) const;
template void Optimiser::measure(int, const UpdateArrays<double>&, const UpdateStep&, double*, int64_t, int64_t) const;

}  // namespace arbalest
