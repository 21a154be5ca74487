// Conversions between formats: plain loops, which the compiler vectorises for each instruction set.
#include <cmath>
#include <limits>
#include <type_traits>

#include "exec/cpu/map/targets.h"
#include "graph/float16.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/map/conversion_kernels.cc"
#include "hwy/foreach_target.h"
// foreach_target comes first.
#include "exec/cpu/map/kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace arbalest::mapping::HWY_NAMESPACE {

// An element as it lies in memory, and as the value that it means.
template <class T>
struct Number {
  using Element = T;
  static HWY_INLINE T load(T x) { return x; }
  template <class V>
  static HWY_INLINE T store(V x) {
    if constexpr (std::is_floating_point_v<V> && std::is_integral_v<T>) {
      // Saturates; NaN becomes 0. The upper limit as a float is one too large.
      constexpr V kLow = static_cast<V>(std::numeric_limits<T>::min());
      constexpr V kHigh = static_cast<V>(std::numeric_limits<T>::max());
      if (!(x > kLow)) return std::isnan(x) ? T{0} : std::numeric_limits<T>::min();
      return x >= kHigh ? std::numeric_limits<T>::max() : static_cast<T>(x);
    } else {
      return static_cast<T>(x);
    }
  }
};

struct Binary16 {
  using Element = uint16_t;
  static HWY_INLINE float load(uint16_t x) { return f32_from_f16(x); }
  static HWY_INLINE uint16_t store(float x) { return f16_from_f32(x); }
  static HWY_INLINE uint16_t store(double x) { return f16_from_f32(f32_round_to_odd(x)); }
};

struct Bfloat16 {
  using Element = uint16_t;
  static HWY_INLINE float load(uint16_t x) { return f32_from_bf16(x); }
  static HWY_INLINE uint16_t store(float x) { return bf16_from_f32(x); }
  static HWY_INLINE uint16_t store(double x) { return bf16_from_f32(f32_round_to_odd(x)); }
};

template <class U>  // all ones or zeros; the value is 1 or 0
struct Mask {
  using Element = U;
  static HWY_INLINE int load(U x) { return static_cast<int>(x & 1); }
  template <class V>
  static HWY_INLINE U store(V x) {
    return static_cast<U>(0) - static_cast<U>(x != 0);
  }
};

template <class From, class To>
void convert(const Call& call) {
  const auto* in = static_cast<const typename From::Element*>(call.in[0]);
  auto* out = static_cast<typename To::Element*>(call.out);
  if (call.step[0] == 0) {
    const auto value = To::store(From::load(in[0]));
    for (size_t i = 0; i < call.n; ++i) out[i] = value;
  } else {
    for (size_t i = 0; i < call.n; ++i) out[i] = To::store(From::load(in[i]));
  }
}

template <class From>
Kernel from_to_mask(Format to) {
  return to == Format::mask32   ? &convert<From, Mask<uint32_t>>
         : to == Format::mask64 ? &convert<From, Mask<uint64_t>>
                                : nullptr;
}

// A float of computation to anything.
template <class T>
Kernel from_float(Format to) {
  using From = Number<T>;
  switch (to) {
    case Format::f32:
      return &convert<From, Number<float>>;
    case Format::f64:
      return &convert<From, Number<double>>;
    case Format::f16:
      return &convert<From, Binary16>;
    case Format::bf16:
      return &convert<From, Bfloat16>;
    case Format::i64:
      return &convert<From, Number<int64_t>>;
    case Format::u64:
      return &convert<From, Number<uint64_t>>;
    default:
      return from_to_mask<From>(to);
  }
}

// An integer of computation to anything; shorter integers take the low bits.
template <class T>
Kernel from_integer(Format to) {
  using From = Number<T>;
  switch (to) {
    case Format::f32:
      return &convert<From, Number<float>>;
    case Format::f64:
      return &convert<From, Number<double>>;
    case Format::i8:
    case Format::u8:
      return &convert<From, Number<uint8_t>>;
    case Format::i16:
    case Format::u16:
      return &convert<From, Number<uint16_t>>;
    case Format::i32:
    case Format::u32:
      return &convert<From, Number<uint32_t>>;
    default:
      return from_to_mask<From>(to);
  }
}

template <class U>
Kernel from_mask(Format to) {
  switch (to) {
    case Format::f32:
      return &convert<Mask<U>, Number<float>>;
    case Format::f64:
      return &convert<Mask<U>, Number<double>>;
    case Format::i64:
    case Format::u64:
      return &convert<Mask<U>, Number<uint64_t>>;
    case Format::boolean:
      return &convert<Mask<U>, Number<uint8_t>>;
    default:
      return from_to_mask<Mask<U>>(to);
  }
}

// A short integer of memory to lanes of computation.
template <class T>
Kernel from_short_integer(Format to) {
  if (to == Format::f32) return &convert<Number<T>, Number<float>>;
  return to == Format::i64 ? &convert<Number<T>, Number<int64_t>> : nullptr;
}

Kernel choose_conversion(Format from, Format to) {
  switch (from) {
    case Format::f32:
      return from_float<float>(to);
    case Format::f64:
      return from_float<double>(to);
    case Format::f16:
      return to == Format::f32 ? &convert<Binary16, Number<float>> : nullptr;
    case Format::bf16:
      return to == Format::f32 ? &convert<Bfloat16, Number<float>> : nullptr;
    case Format::i8:
      return from_short_integer<int8_t>(to);
    case Format::i16:
      return from_short_integer<int16_t>(to);
    case Format::i32:
      return from_short_integer<int32_t>(to);
    case Format::u8:
      return from_short_integer<uint8_t>(to);
    case Format::u16:
      return from_short_integer<uint16_t>(to);
    case Format::u32:
      return from_short_integer<uint32_t>(to);
    case Format::i64:
      return from_integer<int64_t>(to);
    case Format::u64:
      return from_integer<uint64_t>(to);
    case Format::boolean:
      return from_to_mask<Number<uint8_t>>(to);
    case Format::mask32:
      return from_mask<uint32_t>(to);
    case Format::mask64:
      return from_mask<uint64_t>(to);
  }
  return nullptr;
}

}  // namespace arbalest::mapping::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace arbalest::mapping {

HWY_EXPORT(choose_conversion);

Kernel conversion_kernel(Format from, Format to) { return HWY_DYNAMIC_DISPATCH(choose_conversion)(from, to); }

}  // namespace arbalest::mapping
#endif  // HWY_ONCE
