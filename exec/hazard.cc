#include "exec/hazard.h"

#include <algorithm>

namespace arbalest {
namespace {

std::vector<MemoryRange> swapped(std::vector<MemoryRange> ranges, std::span<const MemoryPair> alternating) {
  for (MemoryRange& range : ranges) {
    for (const auto& [a, b] : alternating) {
      if (range.memory == a || range.memory == b) {
        range.memory = range.memory == a ? b : a;
        break;
      }
    }
  }
  return ranges;
}

}  // namespace

std::string_view name_of(HazardKind kind) {
  switch (kind) {
    case HazardKind::read_after_write:
      return "RAW";
    case HazardKind::write_after_read:
      return "WAR";
    case HazardKind::write_after_write:
      return "WAW";
  }
  return "?";
}

// Splits the segments at the ends of the range and fills its gaps; returns the segments that make up the range.
std::pair<HazardTracker::Segments::iterator, HazardTracker::Segments::iterator> HazardTracker::cut(
    const MemoryRange& range) {
  Segments& segments = memories_[range.memory];
  const auto split_at = [&](size_t at) {
    auto it = segments.upper_bound(at);
    if (it == segments.begin()) return;
    --it;
    if (it->first == at || it->second.end <= at) return;
    Segment upper = it->second;
    it->second.end = at;
    segments.emplace(at, std::move(upper));
  };
  split_at(range.begin);
  split_at(range.end);
  size_t covered = range.begin;
  for (auto it = segments.lower_bound(range.begin); covered < range.end;) {
    if (it == segments.end() || it->first > covered) {
      const size_t end = it == segments.end() ? range.end : std::min(it->first, range.end);
      it = segments.emplace_hint(it, covered, Segment{end, -1, {}});
    }
    covered = it->second.end;
    ++it;
  }
  return {segments.find(range.begin), segments.lower_bound(range.end)};
}

void HazardTracker::depend(int from, int to, HazardKind kind) {
  if (from >= 0 && from != to) hazards_.push_back({from, to, 0, kind});
}

void HazardTracker::add(int task, std::span<const MemoryRange> reads, std::span<const MemoryRange> writes) {
  for (const MemoryRange& range : reads) {
    if (range.begin >= range.end) continue;
    const auto [first, last] = cut(range);
    for (auto it = first; it != last; ++it) {
      depend(it->second.writer, task, HazardKind::read_after_write);
      std::vector<int>& readers = it->second.readers;
      if (readers.empty() || readers.back() != task) readers.push_back(task);
    }
  }
  for (const MemoryRange& range : writes) {
    if (range.begin >= range.end) continue;
    const auto [first, last] = cut(range);
    for (auto it = first; it != last; ++it) {
      Segment& segment = it->second;
      for (const int reader : segment.readers) depend(reader, task, HazardKind::write_after_read);
      if (segment.readers.empty()) depend(segment.writer, task, HazardKind::write_after_write);
      segment.writer = task;
      segment.readers.clear();
    }
  }
}

std::vector<Hazard> HazardTracker::hazards() const {
  std::vector<Hazard> result = hazards_;
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<Hazard> loop_hazards(std::span<const Accesses> tasks, std::span<const MemoryPair> alternating) {
  // Conflicts of alternating memories may skip one iteration; those further apart follow from nearer ones, because a
  // task follows itself.
  const int copies = alternating.empty() ? 2 : 3;
  const int count = static_cast<int>(tasks.size());
  HazardTracker tracker;
  for (int copy = 0; copy < copies; ++copy) {
    for (int i = 0; i < count; ++i) {
      const Accesses& task = tasks[static_cast<size_t>(i)];
      if (copy % 2 == 0) {
        tracker.add(copy * count + i, task.reads, task.writes);
      } else {
        tracker.add(copy * count + i, swapped(task.reads, alternating), swapped(task.writes, alternating));
      }
    }
  }
  std::vector<Hazard> result = tracker.hazards();
  for (Hazard& hazard : result) {
    hazard.lag = hazard.to / count - hazard.from / count;
    hazard.from %= count;
    hazard.to %= count;
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace arbalest
