// A piece of an iteration that runs on one stream, and all that it touches.
//
// Nobody orders tasks by hand: two tasks that touch the same bytes run in the order in which they were added to the
// graph, all others may run at the same time. What a task touches and does not declare is not protected.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "exec/hazard.h"
#include "exec/stream.h"

namespace arbalest {

struct Task {
  std::string name;
  Stream* stream = nullptr;
  std::vector<MemoryRange> reads;
  std::vector<MemoryRange> writes;
  std::function<void(int64_t iteration)> run;
  int level = 0;  // runs in the iterations whose level (TaskGraph::set_levels) is at least this
};

}  // namespace arbalest
