// The CPU as a device: a stream is a thread with a queue, an event is a counter.
//
// A stream's thread may be pinned to cores and owns an OpenMP team of `threads` threads, which inherits the cores. Its
// queue is a ring of fixed size with one producer (the host) and one consumer (the thread). Nothing allocates or takes
// a lock while running. Denormal numbers count as zero on these threads: decaying momenta would otherwise end in them
// and stay, each operation costing a hundred times more.
#pragma once

#include <atomic>
#include <exception>
#include <thread>

#include "exec/cpu/counter.h"
#include "exec/device.h"

namespace arbalest {

class CpuEvent : public Event {
 public:
  void synchronize(uint64_t value) override { counter_.wait(static_cast<uint32_t>(value)); }
  void advance(uint64_t value) { counter_.advance(static_cast<uint32_t>(value)); }

 private:
  Counter counter_;
};

class CpuStream : public Stream {
 public:
  CpuStream(Device& device, const StreamOptions& options);  // device error when it cannot run on these cores
  ~CpuStream() override;                                    // runs what is left first
  const std::string& name() const override { return name_; }
  Device& device() override { return device_; }
  void run(const Work& work, int64_t iteration) override;
  void record(Event& event, uint64_t value) override;
  void wait(Event& event, uint64_t value) override;
  void synchronize() override;

 private:
  enum class CommandKind : uint8_t { run, record, wait, stop };
  struct Command {
    CommandKind kind = CommandKind::stop;
    const Work* work = nullptr;
    CpuEvent* event = nullptr;
    uint64_t value = 0;  // of the event, or the iteration
  };

  void enqueue(const Command& command);
  void loop(int threads);
  void execute(const Command& command);

  Device& device_;
  std::string name_;
  std::vector<Command> ring_;
  uint32_t enqueued_ = 0;  // by the host
  Counter published_;      // commands in the ring so far
  Counter finished_;       // commands that the thread is done with
  std::exception_ptr failure_;
  const Work* failed_ = nullptr;
  std::thread thread_;
};

class CpuDevice : public Device {
 public:
  std::string name() const override { return "cpu"; }
  std::unique_ptr<Stream> make_stream(const StreamOptions& options) override;
  std::unique_ptr<Event> make_event() override;
  DeviceMemory allocate(size_t bytes) override;
};

// The cores that this process may run on.
std::vector<int> available_cores();

}  // namespace arbalest
