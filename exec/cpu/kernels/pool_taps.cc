#include "exec/cpu/kernels/pool_taps.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/pool_taps.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace arbalest::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls f(d, channel) for vectors and then single lanes that cover the channels.
template <class T, class F>
void for_channels(int64_t channels, F&& f) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) f(d, c);
  for (; c < channels; ++c) f(one, c);
}

void max_taps(const float* x, Taps taps, int64_t channels, float* y, int32_t* position) {
  for_channels<float>(channels, [&](auto d, int64_t c) {
    const hn::RebindToSigned<decltype(d)> di;
    auto best = hn::Set(d, -std::numeric_limits<float>::infinity());
    auto place = hn::Set(di, taps.begin == taps.end ? 0 : taps.begin->place);
    for (const Tap* t = taps.begin; t != taps.end; ++t) {
      const auto v = hn::LoadU(d, x + t->offset + c);
      const auto wins = hn::Or(hn::Gt(v, best), hn::IsNaN(v));
      best = hn::IfThenElse(wins, v, best);
      place = hn::IfThenElse(hn::RebindMask(di, wins), hn::Set(di, t->place), place);
    }
    hn::StoreU(best, d, y + c);
    hn::StoreU(place, di, position + c);
  });
}

void spread_taps(const float* dy, const int32_t* position, Taps taps, int64_t channels, bool add, float* dx) {
  for_channels<float>(channels, [&](auto d, int64_t c) {
    const hn::RebindToSigned<decltype(d)> di;
    const auto g = hn::LoadU(d, dy + c);
    const auto place = hn::LoadU(di, position + c);
    for (const Tap* t = taps.begin; t != taps.end; ++t) {
      auto v = hn::IfThenElseZero(hn::RebindMask(d, hn::Eq(place, hn::Set(di, t->place))), g);
      if (add) v = hn::Add(v, hn::LoadU(d, dx + t->offset + c));
      hn::StoreU(v, d, dx + t->offset + c);
    }
  });
}

void sum_taps(const float* x, Taps taps, int64_t channels, float factor, float* y) {
  for_channels<float>(channels, [&](auto d, int64_t c) {
    auto sum = hn::Zero(d);
    for (const Tap* t = taps.begin; t != taps.end; ++t) sum = hn::Add(sum, hn::LoadU(d, x + t->offset + c));
    hn::StoreU(hn::Mul(sum, hn::Set(d, factor)), d, y + c);
  });
}

void add_taps(const float* dy, Taps taps, int64_t channels, float factor, float* dx) {
  for_channels<float>(channels, [&](auto d, int64_t c) {
    const auto g = hn::Mul(hn::LoadU(d, dy + c), hn::Set(d, factor));
    for (const Tap* t = taps.begin; t != taps.end; ++t) {
      float* p = dx + t->offset + c;
      hn::StoreU(hn::Add(g, hn::LoadU(d, p)), d, p);
    }
  });
}

}  // namespace arbalest::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace arbalest::cpu {

HWY_EXPORT(max_taps);
HWY_EXPORT(spread_taps);
HWY_EXPORT(sum_taps);
HWY_EXPORT(add_taps);

void max_of_taps(const float* x, Taps taps, int64_t channels, float* y, int32_t* position) {
  HWY_DYNAMIC_DISPATCH(max_taps)(x, taps, channels, y, position);
}
void spread_to_taps(const float* dy, const int32_t* position, Taps taps, int64_t channels, bool add, float* dx) {
  HWY_DYNAMIC_DISPATCH(spread_taps)(dy, position, taps, channels, add, dx);
}
void sum_of_taps(const float* x, Taps taps, int64_t channels, float factor, float* y) {
  HWY_DYNAMIC_DISPATCH(sum_taps)(x, taps, channels, factor, y);
}
void add_to_taps(const float* dy, Taps taps, int64_t channels, float factor, float* dx) {
  HWY_DYNAMIC_DISPATCH(add_taps)(dy, taps, channels, factor, dx);
}

// Double precision is for checks: plain loops.

void max_of_taps(const double* x, Taps taps, int64_t channels, double* y, int32_t* position) {
  for (int64_t c = 0; c < channels; ++c) {
    y[c] = -std::numeric_limits<double>::infinity();
    position[c] = taps.begin == taps.end ? 0 : taps.begin->place;
    for (const Tap* t = taps.begin; t != taps.end; ++t) {
      const double v = x[t->offset + c];
      if (v > y[c] || v != v) y[c] = v, position[c] = t->place;
    }
  }
}

void spread_to_taps(const double* dy, const int32_t* position, Taps taps, int64_t channels, bool add, double* dx) {
  for (const Tap* t = taps.begin; t != taps.end; ++t)
    for (int64_t c = 0; c < channels; ++c) {
      double& d = dx[t->offset + c];
      d = (add ? d : 0.0) + (position[c] == t->place ? dy[c] : 0.0);
    }
}

void sum_of_taps(const double* x, Taps taps, int64_t channels, double factor, double* y) {
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (const Tap* t = taps.begin; t != taps.end; ++t) sum += x[t->offset + c];
    y[c] = sum * factor;
  }
}

void add_to_taps(const double* dy, Taps taps, int64_t channels, double factor, double* dx) {
  for (const Tap* t = taps.begin; t != taps.end; ++t)
    for (int64_t c = 0; c < channels; ++c) dx[t->offset + c] += dy[c] * factor;
}

}  // namespace arbalest::cpu
#endif
