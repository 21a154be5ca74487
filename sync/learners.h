// The learners of all devices, as a synchroniser sees them: flat arrays, streams, and a function that computes
// gradients.
//
// A view: whoever builds it owns what it points to and keeps it alive. All learners have arrays of the same sizes and
// layouts. Learners are numbered across devices, device by device.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "exec/device.h"
#include "exec/optimiser/optimiser.h"

namespace arbalest {

struct StreamShare {
  Stream* stream = nullptr;
  int threads = 1;  // of the stream's team
};

struct Learner {
  StreamShare worker;
  float* weights = nullptr;
  float* gradients = nullptr;
  float* states[kMostOptimiserStates] = {};  // of the optimiser, as many as it counts
  double* measures = nullptr;                // of the optimiser, as many as it counts
  float* statistics = nullptr;               // running means and variances
  // Computes the gradients of the learner's batch of this iteration; moves the statistics.
  std::function<void(int64_t iteration)> forward_backward;
};

struct DeviceLearners {
  Device* device = nullptr;
  std::vector<Learner> learners;
  // The streams that share the device's part of a synchronisation. On a CPU these are the learners' own: there is no
  // core for another thread. A GPU has one stream for it.
  std::vector<StreamShare> synchronising;
};

struct Learners {
  std::vector<DeviceLearners> devices;
  int64_t parameters = 0;  // elements
  int64_t statistics = 0;
  const Optimiser* optimiser = nullptr;
  int64_t states_since = 0;  // the iteration before which the optimiser's states were zeroed
  std::function<double(int64_t iteration)> learning_rate;  // called by several threads

  size_t count() const {
    size_t k = 0;
    for (const DeviceLearners& device : devices) k += device.learners.size();
    return k;
  }
};

}  // namespace arbalest
