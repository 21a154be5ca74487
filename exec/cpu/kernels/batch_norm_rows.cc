#include "exec/cpu/kernels/batch_norm_rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/batch_norm_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace arbalest::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kRowBlock = 128;

// Adds the vector's lanes to doubles.
template <class D, class V>
void add_lanes(D d, V v, double* out) {
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) out[i] += static_cast<double>(lanes[i]);
}

// Sums of two quantities over rows for kVectors vectors of channels. Each row gives (first, second) through terms(row,
// lane).
template <int kVectors, class D, class Terms>
void sum_block(D d, int64_t rows, Terms&& terms, double* first, double* second) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t begin = 0; begin < rows; begin += kRowBlock) {
    decltype(hn::Zero(d)) a[kVectors], b[kVectors];
    for (int v = 0; v < kVectors; ++v) a[v] = b[v] = hn::Zero(d);
    const int64_t end = std::min(rows, begin + kRowBlock);
    for (int64_t r = begin; r < end; ++r)
      for (int v = 0; v < kVectors; ++v) terms(r, v * lanes, a[v], b[v]);
    for (int v = 0; v < kVectors; ++v) {
      add_lanes(d, a[v], first + v * lanes);
      add_lanes(d, b[v], second + v * lanes);
    }
  }
}

template <class D, class T = hn::TFromD<D>>
auto terms_of(D d, const MomentSums<T>& s, int64_t c) {
  return [d, x = s.x + c, channels = s.channels](int64_t r, int64_t lane, auto& sum, auto& squares) {
    const auto v = hn::Sub(hn::LoadU(d, x + r * channels + lane), hn::LoadU(d, x + lane));
    sum = hn::Add(sum, v);
    squares = hn::MulAdd(v, v, squares);
  };
}

template <class D, class T = hn::TFromD<D>>
auto terms_of(D d, const GradientSums<T>& s, int64_t c) {
  return [d, x = s.x + c, dy = s.dy + c, mean = s.mean + c, channels = s.channels](int64_t r, int64_t lane, auto& sum,
                                                                                   auto& products) {
    const auto g = hn::LoadU(d, dy + r * channels + lane);
    sum = hn::Add(sum, g);
    products = hn::MulAdd(g, hn::Sub(hn::LoadU(d, x + r * channels + lane), hn::LoadU(d, mean + lane)), products);
  };
}

template <class S, class T>
void add_up_all(const S& s, double* first, double* second, int64_t begin, int64_t end, T) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  std::fill(first + begin, first + end, 0.0);
  std::fill(second + begin, second + end, 0.0);
  int64_t c = begin;
  for (; c + 2 * lanes <= end; c += 2 * lanes) sum_block<2>(d, s.rows, terms_of(d, s, c), first + c, second + c);
  for (; c + lanes <= end; c += lanes) sum_block<1>(d, s.rows, terms_of(d, s, c), first + c, second + c);
  for (; c < end; ++c) sum_block<1>(one, s.rows, terms_of(one, s, c), first + c, second + c);
}

// Calls f(d, offset, channel) for vectors that cover the rows [begin, end).
template <class T, class F>
void for_elements(int64_t channels, int64_t begin, int64_t end, F&& f) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = begin; r < end; ++r) {
    int64_t c = 0;
    for (; c + lanes <= channels; c += lanes) f(d, r * channels + c, c);
    for (; c < channels; ++c) f(one, r * channels + c, c);
  }
}

template <class T>
void normalise_rows(const Normalise<T>& n, int64_t begin, int64_t end) {
  for_elements<T>(n.channels, begin, end, [&](auto d, int64_t i, int64_t c) {
    const auto centred = hn::Sub(hn::LoadU(d, n.x + i), hn::LoadU(d, n.mean + c));
    hn::StoreU(hn::MulAdd(centred, hn::LoadU(d, n.scale + c), hn::LoadU(d, n.shift + c)), d, n.y + i);
  });
}

template <class T>
void normalise_backward_rows(const NormaliseBackward<T>& n, int64_t begin, int64_t end) {
  for_elements<T>(n.channels, begin, end, [&](auto d, int64_t i, int64_t c) {
    const auto centred = hn::Sub(hn::LoadU(d, n.x + i), hn::LoadU(d, n.mean + c));
    const auto g = hn::Sub(hn::LoadU(d, n.dy + i), hn::LoadU(d, n.offset + c));
    hn::StoreU(hn::Mul(hn::NegMulAdd(centred, hn::LoadU(d, n.slope + c), g), hn::LoadU(d, n.scale + c)), d, n.dx + i);
  });
}

void moments_f32(const MomentSums<float>& s, int64_t b, int64_t e) {
  add_up_all(s, s.sum, s.sum_of_squares, b, e, 0.0f);
}
void moments_f64(const MomentSums<double>& s, int64_t b, int64_t e) {
  add_up_all(s, s.sum, s.sum_of_squares, b, e, 0.0);
}
void gradients_f32(const GradientSums<float>& s, int64_t b, int64_t e) {
  add_up_all(s, s.sum, s.sum_of_products, b, e, 0.0f);
}
void gradients_f64(const GradientSums<double>& s, int64_t b, int64_t e) {
  add_up_all(s, s.sum, s.sum_of_products, b, e, 0.0);
}
void normalise_f32(const Normalise<float>& n, int64_t b, int64_t e) { normalise_rows(n, b, e); }
void normalise_f64(const Normalise<double>& n, int64_t b, int64_t e) { normalise_rows(n, b, e); }
void backward_f32(const NormaliseBackward<float>& n, int64_t b, int64_t e) { normalise_backward_rows(n, b, e); }
void backward_f64(const NormaliseBackward<double>& n, int64_t b, int64_t e) { normalise_backward_rows(n, b, e); }

}  // namespace arbalest::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace arbalest::cpu {

HWY_EXPORT(moments_f32);
HWY_EXPORT(moments_f64);
HWY_EXPORT(gradients_f32);
HWY_EXPORT(gradients_f64);
HWY_EXPORT(normalise_f32);
HWY_EXPORT(normalise_f64);
HWY_EXPORT(backward_f32);
HWY_EXPORT(backward_f64);

void add_up(const MomentSums<float>& s, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(moments_f32)(s, begin, end);
}
void add_up(const MomentSums<double>& s, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(moments_f64)(s, begin, end);
}
void add_up(const GradientSums<float>& s, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(gradients_f32)(s, begin, end);
}
void add_up(const GradientSums<double>& s, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(gradients_f64)(s, begin, end);
}
void normalise(const Normalise<float>& n, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(normalise_f32)(n, begin, end);
}
void normalise(const Normalise<double>& n, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(normalise_f64)(n, begin, end);
}
void normalise_backward(const NormaliseBackward<float>& n, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(backward_f32)(n, begin, end);
}
void normalise_backward(const NormaliseBackward<double>& n, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(backward_f64)(n, begin, end);
}

}  // namespace arbalest::cpu
#endif
