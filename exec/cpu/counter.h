// A counter that threads wait for: it grows, one thread at a time advances it.
//
// Waiting spins shortly, for partners that are about to arrive, and then sleeps (futex); advancing calls the kernel
// only while somebody sleeps. Compared modulo 2^32, the width that std::atomic waits on without a lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace arbalest {

class alignas(64) Counter {
 public:
  bool reached(uint32_t value) const {
    return static_cast<int32_t>(value_.load(std::memory_order_acquire) - value) >= 0;
  }
  void advance(uint32_t value) {
    // Sequentially consistent, both: a sleeper announces itself before it looks at the value, hence one of us sees the
    // other.
    value_.store(value);
    if (sleepers_.load() != 0) value_.notify_all();
  }
  void wait(uint32_t value) {
    if (!reached(value) && !spin(value)) sleep(value);
  }

 private:
  bool spin(uint32_t value) const;
  void sleep(uint32_t value);

  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace arbalest
