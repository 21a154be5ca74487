#include "exec/memory_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "graph/base/error.h"

namespace arbalest {
namespace {

bool share_a_step(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

void check_lifetimes(std::span<const Lifetime> lifetimes) {
  size_t total = 0;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const Lifetime& l = lifetimes[i];
    ensure(l.first <= l.last, "memory plan: buffer {} ends at step {} before it begins at step {}", i, l.last, l.first);
    const size_t room = std::numeric_limits<size_t>::max() - total;
    if (l.bytes > room - std::min(room, kMemoryAlignment - 1)) {
      throw Error(ErrorKind::device, "memory plan: the buffers exceed the address space; use a smaller batch");
    }
    total += aligned_bytes(l.bytes);
  }
}

std::map<int, std::vector<size_t>> buffers_by_lane(std::span<const Lifetime> lifetimes) {
  std::map<int, std::vector<size_t>> lanes;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    if (lifetimes[i].bytes > 0) lanes[lifetimes[i].lane].push_back(i);
  }
  return lanes;
}

// Places the buffers of one lane from `base` on; returns the end of the lane.
size_t place_lane(std::span<const Lifetime> lifetimes, std::vector<size_t> buffers, size_t base,
                  std::vector<size_t>& offsets) {
  const auto span_of = [&](size_t i) { return static_cast<int64_t>(lifetimes[i].last) - lifetimes[i].first; };
  std::stable_sort(buffers.begin(), buffers.end(), [&](size_t a, size_t b) {
    if (lifetimes[a].bytes != lifetimes[b].bytes) return lifetimes[a].bytes > lifetimes[b].bytes;
    return span_of(a) > span_of(b);
  });
  size_t lane_end = base;
  std::vector<size_t> placed;  // by offset
  for (const size_t i : buffers) {
    const size_t bytes = aligned_bytes(lifetimes[i].bytes);
    size_t offset = base;
    for (const size_t p : placed) {
      if (!share_a_step(lifetimes[i], lifetimes[p])) continue;
      if (offset + bytes <= offsets[p]) break;
      offset = std::max(offset, offsets[p] + aligned_bytes(lifetimes[p].bytes));
    }
    offsets[i] = offset;
    const auto after = std::upper_bound(placed.begin(), placed.end(), offset,
                                        [&](size_t value, size_t p) { return value < offsets[p]; });
    placed.insert(after, i);
    lane_end = std::max(lane_end, offset + bytes);
  }
  return lane_end;
}

}  // namespace

size_t aligned_bytes(size_t bytes) { return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment; }

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes) {
  check_lifetimes(lifetimes);
  MemoryPlan plan{std::vector<size_t>(lifetimes.size(), 0), 0};
  for (const auto& [lane, buffers] : buffers_by_lane(lifetimes)) {
    plan.bytes = place_lane(lifetimes, buffers, plan.bytes, plan.offsets);
  }
  return plan;
}

size_t peak_alive_bytes(std::span<const Lifetime> lifetimes) {
  check_lifetimes(lifetimes);
  size_t total = 0;
  for (const auto& [lane, buffers] : buffers_by_lane(lifetimes)) {
    std::map<int64_t, std::pair<size_t, size_t>> changes;  // step -> bytes that appear, bytes that went before it
    for (const size_t i : buffers) {
      changes[lifetimes[i].first].first += aligned_bytes(lifetimes[i].bytes);
      changes[static_cast<int64_t>(lifetimes[i].last) + 1].second += aligned_bytes(lifetimes[i].bytes);
    }
    size_t alive = 0;
    size_t peak = 0;
    for (const auto& [step, change] : changes) {
      alive = alive - change.second + change.first;
      peak = std::max(peak, alive);
    }
    total += peak;
  }
  return total;
}

void verify_memory_plan(std::span<const Lifetime> lifetimes, const MemoryPlan& plan) {
  ensure(plan.offsets.size() == lifetimes.size(), "memory plan: {} offsets for {} buffers", plan.offsets.size(),
         lifetimes.size());
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const Lifetime& a = lifetimes[i];
    const size_t begin = plan.offsets[i];
    ensure(begin % kMemoryAlignment == 0, "memory plan: buffer {} at {} is not aligned", i, begin);
    ensure(begin <= plan.bytes && a.bytes <= plan.bytes - begin,
           "memory plan: buffer {} at {} + {} bytes lies outside the arena of {}", i, begin, a.bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      const Lifetime& b = lifetimes[j];
      const bool alive_at_once = a.lane != b.lane || share_a_step(a, b);
      const bool share_bytes =
          a.bytes > 0 && b.bytes > 0 && begin < plan.offsets[j] + b.bytes && plan.offsets[j] < begin + a.bytes;
      ensure(!(alive_at_once && share_bytes),
             "memory plan: buffers {} (lane {}, steps {}..{}, {} bytes at {}) and {} (lane {}, steps {}..{}, {} bytes "
             "at {}) "
             "are alive at once in the same bytes",
             j, b.lane, b.first, b.last, b.bytes, plan.offsets[j], i, a.lane, a.first, a.last, a.bytes, begin);
    }
  }
}

}  // namespace arbalest
