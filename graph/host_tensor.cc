#include "graph/host_tensor.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "graph/float16.h"

namespace arbalest {
namespace {

// How a C++ value is read from and written to an element of each type. Wide is what conversions go through: double for
// floats, int64_t or uint64_t for integers, so that no integer loses bits on its way to another integer.
template <class T>
struct Plain {
  using Element = T;
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double,
                                  std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  static Wide load(T x) { return static_cast<Wide>(x); }

  template <class W>
  static T store(W x) {
    if constexpr (std::is_same_v<T, bool>) {
      return x != 0;
    } else if constexpr (std::is_floating_point_v<W> && std::is_integral_v<T>) {
      if (std::isnan(x)) return 0;
      // The upper limit as a float may be one too large (2^63), so compare before converting.
      if (x <= static_cast<W>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
      if (x >= static_cast<W>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
      return static_cast<T>(x);
    } else {
      return static_cast<T>(x);
    }
  }
};

struct Binary16 {
  using Element = uint16_t;
  static double load(uint16_t bits) { return f32_from_f16(bits); }
  template <class W>
  static uint16_t store(W x) {
    return f16_from_f32(f32_round_to_odd(static_cast<double>(x)));
  }
};

struct Bfloat16 {
  using Element = uint16_t;
  static double load(uint16_t bits) { return f32_from_bf16(bits); }
  template <class W>
  static uint16_t store(W x) {
    return bf16_from_f32(f32_round_to_odd(static_cast<double>(x)));
  }
};

template <class F>
void with_format(DataType t, F f) {
  switch (t) {
    case DataType::f32:
      return f(Plain<float>{});
    case DataType::f64:
      return f(Plain<double>{});
    case DataType::f16:
      return f(Binary16{});
    case DataType::bf16:
      return f(Bfloat16{});
    case DataType::i8:
      return f(Plain<int8_t>{});
    case DataType::i16:
      return f(Plain<int16_t>{});
    case DataType::i32:
      return f(Plain<int32_t>{});
    case DataType::i64:
      return f(Plain<int64_t>{});
    case DataType::u8:
      return f(Plain<uint8_t>{});
    case DataType::u16:
      return f(Plain<uint16_t>{});
    case DataType::u32:
      return f(Plain<uint32_t>{});
    case DataType::u64:
      return f(Plain<uint64_t>{});
    case DataType::boolean:
      return f(Plain<bool>{});
  }
}

template <class T>
HostTensor from_values(DataType dtype, Dims dims, std::span<const T> values) {
  HostTensor t(dtype, std::move(dims));
  ensure(values.size() * sizeof(T) == t.bytes.size(), "{} values for a tensor of {}", values.size(), to_string(t.dims));
  if (!values.empty()) std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  return t;
}

}  // namespace

HostTensor HostTensor::f32(Dims dims, std::span<const float> values) {
  return from_values(DataType::f32, std::move(dims), values);
}

HostTensor HostTensor::i64(Dims dims, std::span<const int64_t> values) {
  return from_values(DataType::i64, std::move(dims), values);
}

HostTensor HostTensor::to(DataType type) const {
  if (type == dtype) return *this;
  HostTensor result(type, dims);
  with_format(dtype, [&](auto from) {
    with_format(type, [&](auto into) {
      using From = decltype(from);
      using Into = decltype(into);
      const auto source = as<typename From::Element>();
      const auto target = result.template as<typename Into::Element>();
      for (size_t i = 0; i < source.size(); ++i) target[i] = Into::store(From::load(source[i]));
    });
  });
  return result;
}

}  // namespace arbalest
