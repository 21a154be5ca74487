// Loss and speed of the iterations since some point of a run.
#pragma once

#include <algorithm>
#include <cstdint>

namespace arbalest::tools {

struct Meter {
  int64_t begin = 0;  // iterations of the run before it
  int64_t iterations = 0;
  double seconds = 0, loss_sum = 0;  // of training; over iterations

  void add(int64_t count, double mean_loss, double took) {
    iterations += count;
    loss_sum += mean_loss * static_cast<double>(count);
    seconds += took;
  }
  void restart() { *this = {begin + iterations, 0, 0, 0}; }
  double loss() const { return loss_sum / static_cast<double>(std::max<int64_t>(iterations, 1)); }
  double iterations_per_second() const { return static_cast<double>(iterations) / std::max(seconds, 1e-9); }
};

}  // namespace arbalest::tools
