#include "onnx_import/narrow_type.h"

#include <array>
#include <cmath>
#include <limits>

#include "graph/base/error.h"

namespace arbalest {
namespace {

using Beyond = NarrowType::Beyond;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr int kFloat8e8m0 = 24;

constexpr std::array<NarrowType, 10> kNarrowTypes = {{
    {17, "float8e4m3fn", 8, DataType::f32, 3, 7, 448, Beyond::nan},
    {18, "float8e4m3fnuz", 8, DataType::f32, 3, 8, 240, Beyond::nan},
    {19, "float8e5m2", 8, DataType::f32, 2, 15, 57344, Beyond::infinity},
    {20, "float8e5m2fnuz", 8, DataType::f32, 2, 16, 57344, Beyond::nan},
    {21, "uint4", 4, DataType::u8},
    {22, "int4", 4, DataType::i8},
    {23, "float4e2m1", 4, DataType::f32, 1, 1, 6, Beyond::max},
    {kFloat8e8m0, "float8e8m0", 8, DataType::f32, 0, 127, 0x1p127, Beyond::nan},
    {25, "uint2", 2, DataType::u8},
    {26, "int2", 2, DataType::i8},
}};

// ---- reading

bool is_nan(const NarrowType& t, uint32_t bits) {
  const uint32_t magnitude = bits & 0x7f;
  switch (t.onnx_type) {
    case 17:
      return magnitude == 0x7f;
    case 18:
    case 20:
      return bits == 0x80;
    case 19:
      return magnitude > 0x7c;
    case kFloat8e8m0:
      return bits == 0xff;
    default:
      return false;
  }
}

float decode_float(const NarrowType& t, uint32_t bits) {
  if (is_nan(t, bits)) return std::numeric_limits<float>::quiet_NaN();
  if (t.onnx_type == kFloat8e8m0) return std::ldexp(1.0f, static_cast<int>(bits) - t.bias);
  const uint32_t sign = bits >> (t.bits - 1);
  const uint32_t magnitude = bits & ((1u << (t.bits - 1)) - 1);
  const uint32_t exponent = magnitude >> t.fraction_bits;
  const uint32_t fraction = magnitude & ((1u << t.fraction_bits) - 1);
  float value = std::numeric_limits<float>::infinity();
  if (t.beyond != Beyond::infinity || magnitude != 0x7c) {
    const uint32_t significand = exponent == 0 ? fraction : fraction | (1u << t.fraction_bits);
    const int power = (exponent == 0 ? 1 : static_cast<int>(exponent)) - t.bias - t.fraction_bits;
    value = std::ldexp(static_cast<float>(significand), power);
  }
  return sign ? -value : value;
}

uint32_t element_bits(const NarrowType& t, std::span<const std::byte> packed, size_t i) {
  const size_t bit = i * static_cast<size_t>(t.bits);
  return (std::to_integer<uint32_t>(packed[bit / 8]) >> (bit % 8)) & ((1u << t.bits) - 1);
}

int sign_extended(uint32_t bits, int count) {
  const auto sign = static_cast<int>(1u << (count - 1));
  return (static_cast<int>(bits) ^ sign) - sign;
}

// ---- rounding

// The largest power of two that is at most m, for m from 2^-127 to 2^127: m is brought into [1, 2) by steps of powers.
Scalar power_of_two_below(Scalar m) {
  Scalar power = Scalar::constant(1.0, m.type());
  for (const int k : {64, 32, 16, 8, 4, 2, 1}) {
    const Scalar large = m >= std::ldexp(1.0, k);
    power = select(large, power * std::ldexp(1.0, k), power);
    m = select(large, m * std::ldexp(1.0, -k), m);
    const Scalar small = m < std::ldexp(1.0, 1 - k);
    power = select(small, power * std::ldexp(1.0, -k), power);
    m = select(small, m * std::ldexp(1.0, k), m);
  }
  return power;
}

Scalar number(double value) { return Scalar::constant(value, DataType::f32); }

Scalar is_not_a_number(const Scalar& x) { return Scalar::make(ScalarOp::is_nan, {x}); }

Scalar round_to_float(const NarrowType& t, const Scalar& x, bool saturate) {
  const double smallest_normal = std::ldexp(1.0, 1 - t.bias);
  const Scalar size = abs(x);
  const Scalar step = power_of_two_below(min(max(size, number(smallest_normal)), number(2 * t.max))) *
                      std::ldexp(1.0, -t.fraction_bits);
  const Scalar rounded = Scalar::make(ScalarOp::round, {size / step}) * step;
  double limit = t.max;
  if (!saturate && t.beyond == Beyond::nan) limit = std::nan("");
  if (!saturate && t.beyond == Beyond::infinity) limit = kUnbounded;
  const Scalar magnitude = select(rounded > t.max, number(limit), rounded);
  const Scalar result = select(x < 0, -magnitude, magnitude);
  return select(is_not_a_number(x), t.beyond == Beyond::max ? number(0) : x, result);
}

Scalar round_to_power(const NarrowType& t, const Scalar& x, bool saturate, const std::string& round_mode) {
  require(round_mode == "up" || round_mode == "down" || round_mode == "nearest",
          "attribute 'round_mode' is '{}', expected 'up', 'down' or 'nearest'", round_mode);
  const double smallest = std::ldexp(1.0, -t.bias);
  const Scalar size = max(abs(x), number(smallest));
  const Scalar below = power_of_two_below(min(size, number(t.max)));
  Scalar power = below;
  if (round_mode == "up") power = select(below < size, below * 2, below);
  if (round_mode == "nearest") power = select(below * 1.5 <= size, below * 2, below);
  const Scalar finite = select(power > t.max, number(saturate ? t.max : std::nan("")), power);
  return select(is_not_a_number(x) || abs(x) >= kUnbounded, number(std::nan("")), finite);
}

Scalar wrap(const NarrowType& t, const Scalar& x) {
  const auto integer = [&](int64_t v) { return Scalar::constant(v, DataType::i64); };
  const Scalar wide = cast(x, DataType::i64);
  const Scalar low = Scalar::make(ScalarOp::bit_and, {wide, integer((int64_t{1} << t.bits) - 1)});
  if (t.storage == DataType::u8) return cast(low, t.storage);
  const int64_t sign = int64_t{1} << (t.bits - 1);
  return cast(Scalar::make(ScalarOp::bit_xor, {low, integer(sign)}) - integer(sign), t.storage);
}

}  // namespace

const NarrowType* narrow_type(int32_t onnx_type) {
  for (const NarrowType& t : kNarrowTypes) {
    if (t.onnx_type == onnx_type) return &t;
  }
  return nullptr;
}

uint64_t packed_bytes(const NarrowType& type, int64_t count) {
  const auto in_a_byte = static_cast<uint64_t>(8 / type.bits);
  return (static_cast<uint64_t>(count) + in_a_byte - 1) / in_a_byte;
}

HostTensor unpack(const NarrowType& type, Dims dims, std::span<const std::byte> packed) {
  HostTensor t(type.storage, std::move(dims));
  ensure(packed.size() == packed_bytes(type, t.element_count()), "{} bytes of {} for a tensor of {}", packed.size(),
         type.name, to_string(t.dims));
  for (size_t i = 0; i < t.bytes.size() / size_of(type.storage); ++i) {
    const uint32_t bits = element_bits(type, packed, i);
    if (type.storage == DataType::f32) t.as<float>()[i] = decode_float(type, bits);
    if (type.storage == DataType::u8) t.as<uint8_t>()[i] = static_cast<uint8_t>(bits);
    if (type.storage == DataType::i8) t.as<int8_t>()[i] = static_cast<int8_t>(sign_extended(bits, type.bits));
  }
  return t;
}

Scalar round_to(const NarrowType& type, const Scalar& x, bool saturate, const std::string& round_mode) {
  if (type.storage != DataType::f32) return wrap(type, x);
  const Scalar single = cast(x, DataType::f32);
  return type.onnx_type == kFloat8e8m0 ? round_to_power(type, single, saturate, round_mode)
                                       : round_to_float(type, single, saturate);
}

}  // namespace arbalest
