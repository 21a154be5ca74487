#include "tools/interrupt.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>

namespace arbalest::tools {
namespace {

constexpr int64_t kOnce = 500'000'000;  // nanoseconds: `timeout` and some shells signal a process and then its group

std::atomic<int64_t> first_signal = 0;  // when; 0: none yet

void on_signal(int) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t time = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  int64_t before = 0;
  if (!first_signal.compare_exchange_strong(before, time) && time - before > kOnce) std::_Exit(130);
}

}  // namespace

void listen_for_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

bool interrupted() { return first_signal != 0; }

}  // namespace arbalest::tools
