// Random iterations of tasks that read and write random ranges, for the properties of hazards and stream order.
#pragma once

#include <random>
#include <vector>

#include "exec/hazard.h"

namespace arbalest {

struct RandomIteration {
  std::vector<Accesses> tasks;
  std::vector<int> streams;  // of each task
  std::vector<MemoryPair> alternating;
};

inline RandomIteration random_iteration(std::mt19937& random, int most_tasks) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int memories = 2 + below(5);
  const int streams = 1 + below(5);
  const auto ranges = [&](int count) {
    std::vector<MemoryRange> result;
    for (int i = 0; i < count; ++i) {
      const auto begin = static_cast<size_t>(below(12));
      const auto end = below(3) == 0 ? size_t{12} : begin + static_cast<size_t>(below(5));  // sometimes empty
      result.push_back({MemoryId(static_cast<size_t>(below(memories))), below(3) == 0 ? 0 : begin, end});
    }
    return result;
  };
  RandomIteration iteration;
  const int count = 1 + below(most_tasks);
  for (int i = 0; i < count; ++i) {
    iteration.tasks.push_back({ranges(below(4)), ranges(below(3))});
    iteration.streams.push_back(below(streams));
  }
  if (below(2) == 0) iteration.alternating.push_back({MemoryId(size_t{0}), MemoryId(size_t{1})});
  return iteration;
}

inline bool any_overlap(const std::vector<MemoryRange>& a, const std::vector<MemoryRange>& b) {
  for (const MemoryRange& x : a) {
    for (const MemoryRange& y : b) {
      if (overlap(x, y)) return true;
    }
  }
  return false;
}

inline bool conflict(const Accesses& a, const Accesses& b) {
  return any_overlap(a.writes, b.writes) || any_overlap(a.writes, b.reads) || any_overlap(a.reads, b.writes);
}

// What task i of iteration t touches once alternating memories are resolved.
inline Accesses accesses_at(const RandomIteration& iteration, size_t i, int t) {
  Accesses accesses = iteration.tasks[i];
  if (t % 2 == 0) return accesses;
  for (std::vector<MemoryRange>* ranges : {&accesses.reads, &accesses.writes}) {
    for (MemoryRange& range : *ranges) {
      for (const auto& [a, b] : iteration.alternating) {
        if (range.memory == a) {
          range.memory = b;
        } else if (range.memory == b) {
          range.memory = a;
        }
      }
    }
  }
  return accesses;
}

// A directed graph over the tasks of unrolled iterations; node = iteration * tasks + task.
class Reachability {
 public:
  explicit Reachability(size_t nodes) : edges_(nodes, std::vector<bool>(nodes, false)) {}
  void add(size_t from, size_t to) { edges_[from][to] = true; }
  void close() {  // edges go forward: one sweep from the back suffices
    for (size_t from = edges_.size(); from-- > 0;) {
      for (size_t to = from + 1; to < edges_.size(); ++to) {
        if (!edges_[from][to]) continue;
        for (size_t next = to + 1; next < edges_.size(); ++next) {
          if (edges_[to][next]) edges_[from][next] = true;
        }
      }
    }
  }
  bool reaches(size_t from, size_t to) const { return edges_[from][to]; }

 private:
  std::vector<std::vector<bool>> edges_;
};

}  // namespace arbalest
