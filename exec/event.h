// A point in the work of a stream that other streams and the host can wait for.
//
// A counter that only grows. Stream::record(event, value) sets it once the stream's earlier work has ended, so that
// value t + 1 can mean "iteration t". Everything written before the record is visible after the wait. Values that are
// waited for lie within 2^31 of the present one. An event may be destroyed once the streams that record it have been
// synchronized or destroyed; having waited for the event itself is not enough.
#pragma once

#include <cstdint>

namespace arbalest {

class Event {
 public:
  virtual ~Event() = default;
  // Blocks the calling host thread until the value is reached.
  virtual void synchronize(uint64_t value) = 0;
};

}  // namespace arbalest
