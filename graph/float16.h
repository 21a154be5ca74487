// Conversions between float32 and the 16-bit formats, on the bits.
//
// Rounding is to nearest, ties to even; beyond the largest finite value the result is infinity; a NaN stays a NaN (its
// quiet bit is set). IEEE 754-2019 binary16: 1 sign, 5 exponent, 10 fraction bits. bfloat16: the upper half of a
// float32.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace arbalest {

inline float f32_from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

inline uint16_t bf16_from_f32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float f32_from_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
  return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24f) | sign);
}

inline uint16_t f16_from_f32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {  // below the smallest normal, 2^-14: adding 0.5 lets the hardware round at 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
}

// A float32 next to the value whose last bit is 1 when the value is not representable ("round to odd"): rounding it
// again to a shorter format gives what rounding the value directly would.
inline float f32_round_to_odd(double value) {
  const float near = static_cast<float>(value);
  if (std::isnan(near) || static_cast<double>(near) == value) return near;
  const uint32_t bits = std::bit_cast<uint32_t>(near);
  if (bits & 1u) return near;
  const bool too_large = std::fabs(static_cast<double>(near)) > std::fabs(value);
  return std::bit_cast<float>(too_large ? bits - 1 : bits + 1);
}

}  // namespace arbalest
