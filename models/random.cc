#include "models/random.h"

#include <cmath>
#include <numbers>

namespace arbalest {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio, the increment of SplitMix64

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// FNV-1a of the name, mixed with the seed.
uint64_t stream_state(uint64_t seed, std::string_view stream) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : stream) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return mix(hash + mix(seed + kGolden));
}

// The middle of one of 2^53 equal parts of (0, 1): never 0 or 1, and symmetric.
double unit(uint64_t state, uint64_t i) {
  return (static_cast<double>(mix(state + (i + 1) * kGolden) >> 11) + 0.5) * 0x1p-53;
}

}  // namespace

void fill_uniform(std::span<float> values, double bound, uint64_t seed, std::string_view stream) {
  const uint64_t state = stream_state(seed, stream);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((2 * unit(state, i) - 1) * bound);
}

// Box and Muller, in double: what libraries differ in is lost when rounding to float.
void fill_normal(std::span<float> values, double deviation, uint64_t seed, std::string_view stream) {
  const uint64_t state = stream_state(seed, stream);
  for (size_t i = 0; i < values.size(); i += 2) {
    const double radius = deviation * std::sqrt(-2 * std::log(unit(state, i)));
    const double angle = 2 * std::numbers::pi * unit(state, i + 1);
    values[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < values.size()) values[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

}  // namespace arbalest
