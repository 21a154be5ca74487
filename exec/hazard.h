// Which tasks must wait for which, from what they read and write.
//
// A memory range is some bytes of a memory. Tasks are given in program order; where two of them touch a common byte and
// one of them writes it, the later depends on the earlier: read after write, write after read, write after write.
// Invariant: every two conflicting tasks are joined by a path of hazards, and the ends of every hazard are in conflict.
// What follows from other hazards is mostly left out (a writer waits for the readers since the last write, not for
// older ones).
//
// An iteration that repeats has loop-carried hazards too: from a task of one iteration to a task of the next.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/element_range.h"
#include "graph/base/id.h"

namespace arbalest {

using MemoryId = Id<struct MemoryTag>;

struct MemoryRange {
  MemoryId memory;
  size_t begin = 0;  // bytes; half open
  size_t end = 0;
  friend auto operator<=>(const MemoryRange&, const MemoryRange&) = default;
};

inline bool overlap(const MemoryRange& a, const MemoryRange& b) {
  return a.memory == b.memory && a.begin < b.end && b.begin < a.end && a.begin < a.end && b.begin < b.end;
}

// The range that holds these elements of an array of T.
template <class T>
MemoryRange range_of(MemoryId memory, ElementRange elements) {
  return {memory, static_cast<size_t>(elements.begin) * sizeof(T), static_cast<size_t>(elements.end) * sizeof(T)};
}

enum class HazardKind : uint8_t { read_after_write, write_after_read, write_after_write };
std::string_view name_of(HazardKind kind);  // "RAW", "WAR", "WAW"

struct Hazard {
  int from = 0;  // the earlier task
  int to = 0;    // the task that has to wait for it
  int lag = 0;   // iterations between them
  HazardKind kind = HazardKind::read_after_write;
  friend auto operator<=>(const Hazard&, const Hazard&) = default;
};

class HazardTracker {
 public:
  // Adds the next task in program order. Tasks are numbered by the caller; a number may come again only right away.
  void add(int task, std::span<const MemoryRange> reads, std::span<const MemoryRange> writes);
  // All hazards up to now, sorted, each once, with lag 0.
  std::vector<Hazard> hazards() const;

 private:
  struct Segment {
    size_t end = 0;
    int writer = -1;           // the last one
    std::vector<int> readers;  // since then
  };
  using Segments = std::map<size_t, Segment>;  // by first byte; no gaps inside the touched range, no overlaps

  std::pair<Segments::iterator, Segments::iterator> cut(const MemoryRange& range);
  void depend(int from, int to, HazardKind kind);

  std::map<MemoryId, Segments> memories_;
  std::vector<Hazard> hazards_;
};

struct Accesses {
  std::vector<MemoryRange> reads;
  std::vector<MemoryRange> writes;
};
using MemoryPair = std::pair<MemoryId, MemoryId>;

// Hazards of an iteration that repeats: lag 0 within it, lag 1 from the one before. The memories of a pair swap their
// roles after each iteration (double buffers); only then there may be a hazard with lag 2.
std::vector<Hazard> loop_hazards(std::span<const Accesses> tasks, std::span<const MemoryPair> alternating = {});

}  // namespace arbalest
