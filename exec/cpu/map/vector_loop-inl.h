// The loop of a kernel over vectors, compiled for each instruction set (Highway's foreach_target includes this again).
#include <cstring>

#include "exec/cpu/map/kernels.h"
#include "hwy/highway.h"

#if defined(ARBALEST_MAP_VECTOR_LOOP) == defined(HWY_TARGET_TOGGLE)
#ifdef ARBALEST_MAP_VECTOR_LOOP
#undef ARBALEST_MAP_VECTOR_LOOP
#else
#define ARBALEST_MAP_VECTOR_LOOP
#endif

HWY_BEFORE_NAMESPACE();
namespace arbalest::mapping::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Op::of(d, v0, ..., vK-1) at one vector.
template <class Op, int K, class D, class T>
HWY_INLINE hn::Vec<D> apply(D d, const T* const* in, size_t offset) {
  const auto at = [&](int k) HWY_ATTR { return hn::LoadU(d, in[k] + offset); };
  if constexpr (K == 1) return Op::of(d, at(0));
  if constexpr (K == 2) return Op::of(d, at(0), at(1));
  if constexpr (K == 3) return Op::of(d, at(0), at(1), at(2));
  if constexpr (K == 4) return Op::of(d, at(0), at(1), at(2), at(3));
}

// The lanes that fill no vector go through a buffer.
template <class Op, int K, int kVectors, class D, class T>
void last_lanes(D d, const Call& call, const T* const* in, T* out, size_t lanes) {
  const size_t width = kVectors * hn::Lanes(d);
  HWY_ALIGN T buffer[K][kVectors * hn::MaxLanes(d)] = {};
  HWY_ALIGN T result[kVectors * hn::MaxLanes(d)];
  const T* from[K];
  for (int k = 0; k < K; ++k) {
    from[k] = call.step[static_cast<size_t>(k)] == 0 ? in[k] : buffer[k];
    if (from[k] == buffer[k]) std::memcpy(buffer[k], in[k], lanes * sizeof(T));
  }
  for (size_t i = 0; i < width; i += hn::Lanes(d)) hn::StoreU(apply<Op, K>(d, from, i), d, result + i);
  std::memcpy(out, result, lanes * sizeof(T));
}

template <class Op, class T, int K, int kVectors>
void vector_loop(const Call& call) {
  const hn::ScalableTag<T> d;
  const size_t width = kVectors * hn::Lanes(d);
  const T* in[K];
  size_t advance[K];
  for (int k = 0; k < K; ++k) {
    in[k] = static_cast<const T*>(call.in[static_cast<size_t>(k)]);
    advance[k] = call.step[static_cast<size_t>(k)] * width;
  }
  T* out = static_cast<T*>(call.out);
  const size_t n = call.n;
  size_t i = 0;
  for (; i + width <= n; i += width) {
    const auto first = apply<Op, K>(d, in, 0);
    if constexpr (kVectors == 2) {
      const auto second = apply<Op, K>(d, in, hn::Lanes(d));
      hn::StoreU(second, d, out + i + hn::Lanes(d));
    }
    hn::StoreU(first, d, out + i);
    for (int k = 0; k < K; ++k) in[k] += advance[k];
  }
  if (i < n) last_lanes<Op, K, kVectors>(d, call, in, out + i, n - i);
}

}  // namespace arbalest::mapping::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
