// What must have ended before a task begins, by the order on its stream and the waits alone: from what a recording
// device wrote down.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sync/recording_device.h"

namespace arbalest {

using TaskRun = std::pair<std::string, int64_t>;  // name, iteration
using HappensBefore = std::map<TaskRun, std::set<TaskRun>>;

// Tasks of the same name count as one.
inline HappensBefore happens_before(const std::vector<RecordedCommand>& commands) {
  std::map<std::string, std::set<TaskRun>> on_stream;
  std::map<std::pair<int, uint64_t>, std::set<TaskRun>> at_event;
  HappensBefore before;
  for (const RecordedCommand& c : commands) {
    std::set<TaskRun>& now = on_stream[c.stream];
    if (c.kind == RecordedCommand::run) {
      const TaskRun task{c.work, static_cast<int64_t>(c.value)};
      before[task].insert(now.begin(), now.end());
      now.insert(task);
    } else if (c.kind == RecordedCommand::record) {
      at_event[{c.event, c.value}] = now;
    } else {
      const auto event = at_event.find({c.event, c.value});
      if (event == at_event.end()) {
        ADD_FAILURE() << "a wait was issued before its record";
        continue;
      }
      now.insert(event->second.begin(), event->second.end());
    }
  }
  return before;
}

}  // namespace arbalest
