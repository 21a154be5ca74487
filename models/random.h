// Random weights from a counter: element i of a stream is a hash of (seed, stream name, i), so no value depends on
// which others were drawn, and every compiler gives the same. Hash: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace arbalest {

void fill_uniform(std::span<float> values, double bound, uint64_t seed, std::string_view stream);  // U(-bound, bound)
void fill_normal(std::span<float> values, double deviation, uint64_t seed,
                 std::string_view stream);  // N(0, deviation^2)

}  // namespace arbalest
