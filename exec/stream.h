// Work in order: what is enqueued runs one after the other, at some time after the call that enqueues it returned.
//
// One host thread enqueues. Enqueueing allocates nothing; it blocks while the stream's queue is full. What is given by
// reference must outlive its execution.
//
// Errors: when work throws, the stream keeps the first exception and skips later work, but still waits and records, so
// that nobody hangs. synchronize() rethrows it, with the name of the work in front, and the stream is as new.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "exec/event.h"

namespace arbalest {

struct Work {
  std::string name;
  std::function<void(int64_t iteration)> run;
};

class Device;

class Stream {
 public:
  virtual ~Stream() = default;
  virtual const std::string& name() const = 0;
  virtual Device& device() = 0;
  // A device with its own queue calls work.run at once, to launch kernels; the CPU calls it on the stream's thread.
  virtual void run(const Work& work, int64_t iteration) = 0;
  virtual void record(Event& event, uint64_t value) = 0;
  // Later work waits for the event. The record must have been enqueued before, on whichever stream.
  virtual void wait(Event& event, uint64_t value) = 0;
  // Blocks the host until everything enqueued has ended.
  virtual void synchronize() = 0;
};

}  // namespace arbalest
