#include "exec/optimiser/sgd.h"

#include <algorithm>

#include "graph/base/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/optimiser/sgd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef ARBALEST_SGD_COEFFICIENTS
#define ARBALEST_SGD_COEFFICIENTS
namespace arbalest {
struct SgdCoefficients {
  double learning_rate;
  double momentum;
  bool nesterov;
  double weight_decay;
  double correction;
};
}  // namespace arbalest
#endif

HWY_BEFORE_NAMESPACE();
namespace arbalest::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

enum class Momentum { none, classic, nesterov };

// Elements [i, n) in whole vectors of D; returns where it stopped.
template <Momentum kMomentum, bool kCorrect, class D, class T = hn::TFromD<D>>
int64_t update_vectors(D d, const UpdateArrays<T>& a, const SgdCoefficients& c, int64_t i, int64_t n) {
  const auto learning_rate = hn::Set(d, static_cast<T>(c.learning_rate));
  const auto momentum = hn::Set(d, static_cast<T>(c.momentum));
  const auto weight_decay = hn::Set(d, static_cast<T>(c.weight_decay));
  const auto correction = hn::Set(d, static_cast<T>(c.correction));
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes) {
    const auto w = hn::LoadU(d, a.weights + i);
    auto step = hn::MulAdd(weight_decay, w, hn::LoadU(d, a.gradients + i));
    if constexpr (kMomentum != Momentum::none) {
      const auto v = hn::MulAdd(momentum, hn::LoadU(d, a.states[0] + i), step);
      hn::StoreU(v, d, a.states[0] + i);
      step = kMomentum == Momentum::nesterov ? hn::MulAdd(momentum, v, step) : v;
    }
    auto next = hn::NegMulAdd(learning_rate, step, w);
    if constexpr (kCorrect) next = hn::NegMulAdd(correction, hn::Sub(w, hn::LoadU(d, a.average + i)), next);
    hn::StoreU(next, d, a.weights + i);
  }
  return i;
}

template <Momentum kMomentum, bool kCorrect, class T>
void update_all(const UpdateArrays<T>& a, const SgdCoefficients& c, int64_t n) {
  const int64_t rest = update_vectors<kMomentum, kCorrect>(hn::ScalableTag<T>(), a, c, 0, n);
  update_vectors<kMomentum, kCorrect>(hn::CappedTag<T, 1>(), a, c, rest, n);
}

template <Momentum kMomentum, class T>
void update_corrected(const UpdateArrays<T>& a, const SgdCoefficients& c, int64_t n) {
  a.average != nullptr ? update_all<kMomentum, true>(a, c, n) : update_all<kMomentum, false>(a, c, n);
}

template <class T>
void sgd(const UpdateArrays<T>& a, const SgdCoefficients& c, int64_t n) {
  if (c.momentum == 0) {
    update_corrected<Momentum::none>(a, c, n);
  } else if (c.nesterov) {
    update_corrected<Momentum::nesterov>(a, c, n);
  } else {
    update_corrected<Momentum::classic>(a, c, n);
  }
}

void sgd_f32(const UpdateArrays<float>& a, const SgdCoefficients& c, int64_t n) { sgd(a, c, n); }
void sgd_f64(const UpdateArrays<double>& a, const SgdCoefficients& c, int64_t n) { sgd(a, c, n); }

}  // namespace arbalest::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace arbalest {
namespace {

HWY_EXPORT(sgd_f32);
HWY_EXPORT(sgd_f64);

void sgd(const UpdateArrays<float>& a, const SgdCoefficients& c, int64_t n) { HWY_DYNAMIC_DISPATCH(sgd_f32)(a, c, n); }
void sgd(const UpdateArrays<double>& a, const SgdCoefficients& c, int64_t n) { HWY_DYNAMIC_DISPATCH(sgd_f64)(a, c, n); }

template <class T>
UpdateArrays<T> advanced(UpdateArrays<T> a, int64_t elements) {
  a.weights += elements;
  a.gradients += elements;
  if (a.states[0] != nullptr) a.states[0] += elements;
  if (a.average != nullptr) a.average += elements;
  return a;
}

}  // namespace

Sgd::Sgd(SgdOptions options) : options_(std::move(options)) {
  const SgdOptions& o = options_;
  if (!(o.momentum >= 0 && o.momentum < 1)) {
    throw Error(ErrorKind::usage, "momentum {}: must be at least 0 and less than 1", o.momentum);
  }
  if (!(o.weight_decay >= 0)) throw Error(ErrorKind::usage, "weight decay {}: must not be negative", o.weight_decay);
  if (o.nesterov && o.momentum == 0) {
    throw Error(ErrorKind::usage, "nesterov: needs a momentum; give one, for example 0.9");
  }
  int64_t last = 0;
  for (const ElementRange& range : o.decayed) {
    ensure(last <= range.begin && range.begin <= range.end, "sgd: decayed ranges must increase");
    last = range.end;
  }
  if (o.weight_decay == 0) options_.decayed.clear();
}

template <class T>
void Sgd::update_parts(const UpdateArrays<T>& arrays, const UpdateStep& step, int64_t begin, int64_t end) const {
  SgdCoefficients c{step.learning_rate, options_.momentum, options_.nesterov, options_.weight_decay, step.correction};
  if (options_.decayed.empty()) {
    sgd(arrays, c, end - begin);
    return;
  }
  const auto part = [&](int64_t first, int64_t last, double weight_decay) {
    if (first >= last) return;
    c.weight_decay = weight_decay;
    sgd(advanced(arrays, first - begin), c, last - first);
  };
  int64_t done = begin;
  for (const ElementRange& range : options_.decayed) {
    const int64_t first = std::clamp(range.begin, done, end);
    const int64_t last = std::clamp(range.end, first, end);
    part(done, first, 0);
    part(first, last, options_.weight_decay);
    done = last;
  }
  part(done, end, 0);
}

void Sgd::update(const UpdateArrays<float>& arrays, const UpdateStep& step, int64_t begin, int64_t end) const {
  update_parts(arrays, step, begin, end);
}

void Sgd::update(const UpdateArrays<double>& arrays, const UpdateStep& step, int64_t begin, int64_t end) const {
  update_parts(arrays, step, begin, end);
}

}  // namespace arbalest
#endif  // HWY_ONCE
