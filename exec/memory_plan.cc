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

// Bytes that are taken, as disjoint ranges that do not touch.
class TakenBytes {
 public:
  bool is_empty() const { return ends_.empty(); }

  void add(size_t begin, size_t end) {
    auto it = ends_.upper_bound(begin);
    if (it != ends_.begin() && std::prev(it)->second >= begin) {
      --it;
      begin = it->first;
      end = std::max(end, it->second);
    }
    while (it != ends_.end() && it->first <= end) {
      end = std::max(end, it->second);
      it = ends_.erase(it);
    }
    ends_.emplace_hint(it, begin, end);
  }

  // The lowest offset from `offset` on at which so many bytes are free.
  size_t lowest_free(size_t offset, size_t bytes) const {
    auto it = ends_.upper_bound(offset);
    if (it != ends_.begin()) offset = std::max(offset, std::prev(it)->second);
    for (; it != ends_.end() && it->first < offset + bytes; ++it) offset = it->second;
    return offset;
  }

 private:
  std::map<size_t, size_t> ends_;  // begin -> end
};

// What is taken at which step: a tree over the steps at which buffers begin (two that are alive at once are so when the
// later one begins). A node knows what is taken all the time that it covers, and what is taken at any step of it, so
// that a buffer is placed in logarithmic time, however many are alive with it.
class TakenTimes {
 public:
  explicit TakenTimes(std::vector<int> begins) : begins_(std::move(begins)) {
    std::sort(begins_.begin(), begins_.end());
    begins_.erase(std::unique(begins_.begin(), begins_.end()), begins_.end());
    while (leaves_ < begins_.size()) leaves_ *= 2;
    throughout_.resize(2 * leaves_);
    ever_.resize(2 * leaves_);
  }

  size_t lowest_free(const Lifetime& l, size_t offset, size_t bytes) const {
    std::vector<const TakenBytes*> taken;
    for_each_part(
        l, [&](size_t node) { taken.push_back(&ever_[node]); },
        [&](size_t above) { taken.push_back(&throughout_[above]); });
    std::erase_if(taken, [](const TakenBytes* t) { return t->is_empty(); });
    for (size_t before = offset + 1; before != offset;) {
      before = offset;
      for (const TakenBytes* t : taken) offset = t->lowest_free(offset, bytes);
    }
    return offset;
  }

  void take(const Lifetime& l, size_t offset, size_t bytes) {
    for_each_part(
        l,
        [&](size_t node) {
          throughout_[node].add(offset, offset + bytes);
          ever_[node].add(offset, offset + bytes);
        },
        [&](size_t above) { ever_[above].add(offset, offset + bytes); });
  }

 private:
  // The nodes that together cover the lifetime, and all nodes above these, each once.
  template <class Node, class Above>
  void for_each_part(const Lifetime& l, Node&& at_node, Above&& at_above) const {
    const auto index = [&](auto it) { return static_cast<size_t>(it - begins_.begin()) + leaves_; };
    size_t first = index(std::lower_bound(begins_.begin(), begins_.end(), l.first));
    size_t end = index(std::upper_bound(begins_.begin(), begins_.end(), l.last));
    const size_t low = first, high = end - 1;  // leaves at both ends: what is above any part is above one of them
    for (; first < end; first /= 2, end /= 2) {
      if (first % 2 == 1) at_node(first++);
      if (end % 2 == 1) at_node(--end);
    }
    size_t left = low / 2, right = high / 2;
    size_t size = 2;
    for (; left > 0; left /= 2, right /= 2, size *= 2) {
      if (!covers(low, high, left, size)) at_above(left);
      if (right != left && !covers(low, high, right, size)) at_above(right);
    }
  }

  // Whether the leaves low..high cover the node, whose leaves are so many: then it is a part or below one.
  bool covers(size_t low, size_t high, size_t node, size_t size) const {
    const size_t begin = node * size;
    return low <= begin && begin + size - 1 <= high;
  }

  std::vector<int> begins_;
  size_t leaves_ = 1;
  std::vector<TakenBytes> throughout_, ever_;  // by node; children of i are 2i and 2i + 1
};

// Places the buffers of one lane from `base` on; returns the end of the lane.
size_t place_lane(std::span<const Lifetime> lifetimes, std::vector<size_t> buffers, size_t base,
                  std::vector<size_t>& offsets) {
  const auto span_of = [&](size_t i) { return static_cast<int64_t>(lifetimes[i].last) - lifetimes[i].first; };
  std::stable_sort(buffers.begin(), buffers.end(), [&](size_t a, size_t b) {
    if (lifetimes[a].bytes != lifetimes[b].bytes) return lifetimes[a].bytes > lifetimes[b].bytes;
    return span_of(a) > span_of(b);
  });
  std::vector<int> begins;
  for (const size_t i : buffers) begins.push_back(lifetimes[i].first);
  TakenTimes taken(std::move(begins));
  size_t lane_end = base;
  for (const size_t i : buffers) {
    const size_t bytes = aligned_bytes(lifetimes[i].bytes);
    offsets[i] = taken.lowest_free(lifetimes[i], base, bytes);
    taken.take(lifetimes[i], offsets[i], bytes);
    lane_end = std::max(lane_end, offsets[i] + bytes);
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
