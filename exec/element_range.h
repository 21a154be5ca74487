// Some consecutive elements of a flat array, and how to share them out.
#pragma once

#include <algorithm>
#include <cstdint>

namespace arbalest {

struct ElementRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// Part `part` of `parts`: the edges between parts are multiples of `multiple` elements from the beginning, and the
// sizes differ by at most one multiple.
inline ElementRange part_of(ElementRange whole, int64_t part, int64_t parts, int64_t multiple = 1) {
  const int64_t units = (whole.size() + multiple - 1) / multiple;
  const auto edge = [&](int64_t p) {
    return whole.begin + std::min(whole.size(), (units / parts * p + std::min(p, units % parts)) * multiple);
  };
  return {edge(part), edge(part + 1)};
}

inline constexpr int64_t kCacheLineFloats = 16;

}  // namespace arbalest
