#include "exec/optimiser/rules.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/optimiser/rules.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace arbalest::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A rule is made once a pass from the coefficients; direction(g, w, states, i) gives that by which rate() scales.
template <class D, class T = hn::TFromD<D>>
struct Constants {
  using V = hn::Vec<D>;
  D d;
  const Coefficients& c;
  V set(double x) const { return hn::Set(d, static_cast<T>(x)); }
  V load(const T* p) const { return hn::LoadU(d, p); }
  // old <- keep old + fresh x
  V blend(T* p, V keep, V fresh, V x) const {
    const V next = hn::MulAdd(keep, load(p), hn::Mul(fresh, x));
    hn::StoreU(next, d, p);
    return next;
  }
};

enum class Momentum { none, classic, nesterov };

template <Momentum kMomentum>
struct SgdRule {
  template <class D>
  struct On : Constants<D> {
    using V = hn::Vec<D>;
    using T = hn::TFromD<D>;
    const V momentum = this->set(this->c.momentum), decay = this->set(this->c.weight_decay),
            fresh = this->set(this->c.fresh);
    double rate() const { return this->c.learning_rate; }
    V direction(V g, V w, T* const* states, int64_t i) const {
      const V step = hn::MulAdd(decay, w, g);
      if constexpr (kMomentum == Momentum::none) return step;
      const V v = this->blend(states[0] + i, momentum, fresh, step);
      return kMomentum == Momentum::nesterov ? hn::MulAdd(momentum, v, step) : v;
    }
  };
};

// The learning rate and the ratio belong to the momentum: v = momentum v + rate ratio (g + decay w).
struct LarsRule {
  template <class D>
  struct On : Constants<D> {
    using V = hn::Vec<D>;
    using T = hn::TFromD<D>;
    const V momentum = this->set(this->c.momentum), decay = this->set(this->c.weight_decay),
            rate_ratio = this->set(this->c.learning_rate * this->c.ratio), one = this->set(1);
    double rate() const { return 1; }
    V direction(V g, V w, T* const* states, int64_t i) const {
      const V step = hn::Mul(rate_ratio, hn::MulAdd(decay, w, g));
      return states[0] == nullptr ? step : this->blend(states[0] + i, momentum, one, step);
    }
  };
};

enum class Adam { l2, decoupled, onnx };

template <Adam kForm>
struct AdamRule {
  template <class D>
  struct On : Constants<D> {
    using V = hn::Vec<D>;
    using T = hn::TFromD<D>;
    const V beta1 = this->set(this->c.beta1), rest1 = this->set(1 - this->c.beta1), beta2 = this->set(this->c.beta2),
            rest2 = this->set(1 - this->c.beta2), epsilon = this->set(this->c.epsilon),
            bias1 = this->set(this->c.bias1), bias2 = this->set(this->c.bias2), decay = this->set(this->c.weight_decay);
    double rate() const { return this->c.learning_rate; }
    V direction(V g, V w, T* const* states, int64_t i) const {
      const V x = kForm == Adam::decoupled ? g : hn::MulAdd(decay, w, g);
      const V m = this->blend(states[0] + i, beta1, rest1, x);
      const V root = hn::Sqrt(this->blend(states[1] + i, beta2, rest2, hn::Mul(x, x)));
      if constexpr (kForm == Adam::onnx) return hn::Div(hn::Mul(m, hn::Div(bias1, bias2)), hn::Add(root, epsilon));
      const V step = hn::Div(hn::Mul(m, bias1), hn::MulAdd(root, bias2, epsilon));
      return kForm == Adam::decoupled ? hn::MulAdd(decay, w, step) : step;
    }
  };
};

struct AdagradRule {
  template <class D>
  struct On : Constants<D> {
    using V = hn::Vec<D>;
    using T = hn::TFromD<D>;
    const V one = this->set(1), epsilon = this->set(this->c.epsilon), decay = this->set(this->c.weight_decay);
    double rate() const { return this->c.learning_rate; }
    V direction(V g, V w, T* const* states, int64_t i) const {
      const V x = hn::MulAdd(decay, w, g);
      return hn::Div(x, hn::Add(hn::Sqrt(this->blend(states[0] + i, one, one, hn::Mul(x, x))), epsilon));
    }
  };
};

struct RmspropRule {
  template <class D>
  struct On : Constants<D> {
    using V = hn::Vec<D>;
    using T = hn::TFromD<D>;
    const V one = this->set(1), momentum = this->set(this->c.momentum), beta2 = this->set(this->c.beta2),
            rest2 = this->set(1 - this->c.beta2), epsilon = this->set(this->c.epsilon),
            decay = this->set(this->c.weight_decay);
    double rate() const { return this->c.learning_rate; }
    V direction(V g, V w, T* const* states, int64_t i) const {
      const V x = hn::MulAdd(decay, w, g);
      const V root = hn::Sqrt(this->blend(states[0] + i, beta2, rest2, hn::Mul(x, x)));
      const V step = hn::Div(x, hn::Add(root, epsilon));
      return states[1] == nullptr ? step : this->blend(states[1] + i, momentum, one, step);
    }
  };
};

struct LionRule {
  template <class D>
  struct On : Constants<D> {
    using V = hn::Vec<D>;
    using T = hn::TFromD<D>;
    const V beta1 = this->set(this->c.beta1), rest1 = this->set(1 - this->c.beta1), beta2 = this->set(this->c.beta2),
            rest2 = this->set(1 - this->c.beta2), decay = this->set(this->c.weight_decay), one = this->set(1),
            zero = this->set(0);
    double rate() const { return this->c.learning_rate; }
    V direction(V g, V w, T* const* states, int64_t i) const {
      const V x = hn::MulAdd(beta1, this->load(states[0] + i), hn::Mul(rest1, g));
      this->blend(states[0] + i, beta2, rest2, g);
      const V sign = hn::IfThenElse(hn::Eq(x, zero), zero, hn::CopySign(one, x));
      return hn::MulAdd(decay, w, sign);
    }
  };
};

// The gradients hold what lamb_direction() made of them.
struct LambRule {
  template <class D>
  struct On : Constants<D> {
    using V = hn::Vec<D>;
    using T = hn::TFromD<D>;
    double rate() const { return this->c.learning_rate * this->c.ratio; }
    V direction(V g, V, T* const*, int64_t) const { return g; }
  };
};

// Elements [i, n) in whole vectors of D; returns where it stopped.
template <class Rule, bool kCorrect, bool kClip, class D, class T = hn::TFromD<D>>
int64_t update_vectors(D d, const UpdateArrays<T>& a, const Coefficients& c, int64_t i, int64_t n) {
  const typename Rule::template On<D> rule{{d, c}};
  const auto rate = rule.set(rule.rate()), correction = rule.set(c.correction), scale = rule.set(c.scale),
             least = rule.set(-c.bound), most = rule.set(c.bound);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes) {
    const auto w = rule.load(a.weights + i);
    auto g = rule.load(a.gradients + i);
    if constexpr (kClip) g = hn::Min(hn::Max(hn::Mul(g, scale), least), most);
    auto next = hn::NegMulAdd(rate, rule.direction(g, w, a.states, i), w);
    if constexpr (kCorrect) next = hn::NegMulAdd(correction, hn::Sub(w, rule.load(a.average + i)), next);
    hn::StoreU(next, d, a.weights + i);
  }
  return i;
}

template <class Rule, bool kCorrect, bool kClip, class T>
void update_elements(const UpdateArrays<T>& a, const Coefficients& c, int64_t n) {
  const int64_t rest = update_vectors<Rule, kCorrect, kClip>(hn::ScalableTag<T>(), a, c, 0, n);
  update_vectors<Rule, kCorrect, kClip>(hn::CappedTag<T, 1>(), a, c, rest, n);
}

template <class Rule, class T>
void update_by(const UpdateArrays<T>& a, const Coefficients& c, int64_t n) {
  const bool clip = c.scale != 1 || c.bound < std::numeric_limits<double>::max();
  if (a.average != nullptr)
    clip ? update_elements<Rule, true, true>(a, c, n) : update_elements<Rule, true, false>(a, c, n);
  else
    clip ? update_elements<Rule, false, true>(a, c, n) : update_elements<Rule, false, false>(a, c, n);
}

template <class T>
void update_kind(OptimiserKind kind, const UpdateArrays<T>& a, const Coefficients& c, int64_t n) {
  switch (kind) {
    case OptimiserKind::sgd:
      if (c.momentum == 0) return update_by<SgdRule<Momentum::none>>(a, c, n);
      if (c.nesterov) return update_by<SgdRule<Momentum::nesterov>>(a, c, n);
      return update_by<SgdRule<Momentum::classic>>(a, c, n);
    case OptimiserKind::adam:
      return update_by<AdamRule<Adam::l2>>(a, c, n);
    case OptimiserKind::adam_onnx:
      return update_by<AdamRule<Adam::onnx>>(a, c, n);
    case OptimiserKind::adamw:
      return update_by<AdamRule<Adam::decoupled>>(a, c, n);
    case OptimiserKind::adagrad:
      return update_by<AdagradRule>(a, c, n);
    case OptimiserKind::rmsprop:
      return update_by<RmspropRule>(a, c, n);
    case OptimiserKind::lamb:
      return a.average != nullptr ? update_elements<LambRule, true, false>(a, c, n)
                                  : update_elements<LambRule, false, false>(a, c, n);
    case OptimiserKind::lars:
      return update_by<LarsRule>(a, c, n);
    case OptimiserKind::lion:
      return update_by<LionRule>(a, c, n);
  }
}

template <class D, class T = hn::TFromD<D>>
int64_t lamb_vectors(D d, const UpdateArrays<T>& a, const Coefficients& c, int64_t i, int64_t n) {
  const AdamRule<Adam::decoupled>::On<D> rule{{d, c}};
  const auto scale = rule.set(c.scale), least = rule.set(-c.bound), most = rule.set(c.bound);
  for (const auto lanes = static_cast<int64_t>(hn::Lanes(d)); i + lanes <= n; i += lanes) {
    const auto g = hn::Min(hn::Max(hn::Mul(rule.load(a.gradients + i), scale), least), most);
    hn::StoreU(rule.direction(g, rule.load(a.weights + i), a.states, i), d, a.gradients + i);
  }
  return i;
}

template <class T>
void lamb_elements(const UpdateArrays<T>& a, const Coefficients& c, int64_t n) {
  const int64_t rest = lamb_vectors(hn::ScalableTag<T>(), a, c, 0, n);
  lamb_vectors(hn::CappedTag<T, 1>(), a, c, rest, n);
}

// Of element(i), in float64.
template <class Element>
double squares(int64_t n, const Element& element) {
  double sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; ++k) sums[k] += element(i + k) * element(i + k);
  for (; i < n; ++i) sums[0] += element(i) * element(i);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T>
double clipped_squares(const T* x, const Coefficients& c, int64_t n) {
  return squares(n, [x, scale = c.scale, bound = c.bound](int64_t i) {
    return std::min(std::max(double{x[i]} * scale, -bound), bound);
  });
}

void rule_f32(OptimiserKind kind, const UpdateArrays<float>& a, const Coefficients& c, int64_t n) {
  update_kind(kind, a, c, n);
}
void rule_f64(OptimiserKind kind, const UpdateArrays<double>& a, const Coefficients& c, int64_t n) {
  update_kind(kind, a, c, n);
}
void lamb_f32(const UpdateArrays<float>& a, const Coefficients& c, int64_t n) { lamb_elements(a, c, n); }
void lamb_f64(const UpdateArrays<double>& a, const Coefficients& c, int64_t n) { lamb_elements(a, c, n); }
double squares_f32(const float* x, int64_t n) {
  return squares(n, [x](int64_t i) { return double{x[i]}; });
}
double squares_f64(const double* x, int64_t n) {
  return squares(n, [x](int64_t i) { return x[i]; });
}
double clipped_f32(const float* x, const Coefficients& c, int64_t n) { return clipped_squares(x, c, n); }
double clipped_f64(const double* x, const Coefficients& c, int64_t n) { return clipped_squares(x, c, n); }

}  // namespace arbalest::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace arbalest {
namespace {
HWY_EXPORT(rule_f32);
HWY_EXPORT(rule_f64);
HWY_EXPORT(lamb_f32);
HWY_EXPORT(lamb_f64);
HWY_EXPORT(squares_f32);
HWY_EXPORT(squares_f64);
HWY_EXPORT(clipped_f32);
HWY_EXPORT(clipped_f64);
}  // namespace

void apply_rule(OptimiserKind kind, const UpdateArrays<float>& arrays, const Coefficients& c, int64_t n) {
  HWY_DYNAMIC_DISPATCH(rule_f32)(kind, arrays, c, n);
}
void apply_rule(OptimiserKind kind, const UpdateArrays<double>& arrays, const Coefficients& c, int64_t n) {
  HWY_DYNAMIC_DISPATCH(rule_f64)(kind, arrays, c, n);
}
void lamb_direction(const UpdateArrays<float>& arrays, const Coefficients& c, int64_t n) {
  HWY_DYNAMIC_DISPATCH(lamb_f32)(arrays, c, n);
}
void lamb_direction(const UpdateArrays<double>& arrays, const Coefficients& c, int64_t n) {
  HWY_DYNAMIC_DISPATCH(lamb_f64)(arrays, c, n);
}
double sum_of_squares(const float* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(squares_f32)(x, n); }
double sum_of_squares(const double* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(squares_f64)(x, n); }
double sum_of_clipped_squares(const float* gradients, const Coefficients& c, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(clipped_f32)(gradients, c, n);
}
double sum_of_clipped_squares(const double* gradients, const Coefficients& c, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(clipped_f64)(gradients, c, n);
}

}  // namespace arbalest
#endif  // HWY_ONCE
