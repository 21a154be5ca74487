#include "exec/cpu/counter.h"

#include <chrono>
#include <thread>

namespace arbalest {
namespace {

// About what going to sleep and being woken costs: spinning longer cannot win more than it loses.
constexpr std::chrono::microseconds kSpinTime{20};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

bool Counter::spin(uint32_t value) const {
  const auto until = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 16; ++i) {
      if (reached(value)) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

void Counter::sleep(uint32_t value) {
  sleepers_.fetch_add(1);
  for (uint32_t now = value_.load(); static_cast<int32_t>(now - value) < 0; now = value_.load()) value_.wait(now);
  sleepers_.fetch_sub(1);
}

}  // namespace arbalest
