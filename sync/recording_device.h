// A device that runs nothing and writes down what is enqueued on its streams, in order over all streams: for tests of
// what is enqueued, and for simulations. Its memory is the host's.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "exec/device.h"

namespace arbalest {

struct RecordedCommand {
  enum Kind { run, record, wait } kind;
  std::string stream;
  std::string work;    // of run
  int event = 0;       // of record and wait, by order of creation
  uint64_t value = 0;  // of the event, or the iteration
};

class RecordingDevice : public Device {
 public:
  std::vector<RecordedCommand> commands;

  std::string name() const override { return "recording"; }
  std::unique_ptr<Stream> make_stream(const StreamOptions& options) override {
    return std::make_unique<RecordingStream>(*this, options.name);
  }
  std::unique_ptr<Event> make_event() override { return std::make_unique<RecordingEvent>(events_++); }
  DeviceMemory allocate(size_t bytes) override {
    constexpr std::align_val_t kAlignment{64};
    auto* memory = static_cast<std::byte*>(::operator new(bytes, kAlignment));
    std::fill_n(memory, bytes, std::byte{0});
    return {memory, [](std::byte* m) { ::operator delete(m, kAlignment); }};
  }

 private:
  struct RecordingEvent : Event {
    explicit RecordingEvent(int i) : index(i) {}
    void synchronize(uint64_t) override {}
    int index;
  };

  struct RecordingStream : Stream {
    RecordingStream(RecordingDevice& d, std::string n) : owner(d), label(std::move(n)) {}
    const std::string& name() const override { return label; }
    Device& device() override { return owner; }
    void run(const Work& work, int64_t iteration) override {
      owner.commands.push_back({RecordedCommand::run, label, work.name, 0, static_cast<uint64_t>(iteration)});
    }
    void record(Event& event, uint64_t value) override { add(RecordedCommand::record, event, value); }
    void wait(Event& event, uint64_t value) override { add(RecordedCommand::wait, event, value); }
    void synchronize() override {}
    void add(RecordedCommand::Kind kind, Event& event, uint64_t value) {
      owner.commands.push_back({kind, label, "", static_cast<RecordingEvent&>(event).index, value});
    }
    RecordingDevice& owner;
    std::string label;
  };

  int events_ = 0;
};

}  // namespace arbalest
