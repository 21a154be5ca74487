// The fewest waits that order tasks on in-order streams as their hazards demand.
//
// The tasks of one iteration are given in program order, each on a stream; the iteration repeats. A stream runs its
// tasks one after the other, so hazards within a stream cost nothing. The others become "task `to` waits until task
// `from` of `lag` iterations ago has ended", reduced to the unique transitive reduction of (streams + hazards) over the
// unrolled iterations. Invariant: every hazard follows from stream order and waits, and without any one wait some
// hazard would not.
#pragma once

#include <compare>
#include <span>
#include <vector>

#include "exec/hazard.h"

namespace arbalest {

struct Wait {
  int to = 0;
  int from = 0;
  int lag = 0;
  friend auto operator<=>(const Wait&, const Wait&) = default;
};

// stream_of[i] is the stream of task i. The waits come sorted by the waiting task; a task that some wait names as
// `from` needs an event.
std::vector<Wait> stream_order(std::span<const int> stream_of, std::span<const Hazard> hazards);

}  // namespace arbalest
