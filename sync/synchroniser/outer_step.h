// Algorithms with an outer optimiser: every learner takes its own steps from the central model z; at the end of every
// tau iterations the way that the learners made on average counts as a gradient of z, z takes a step with momentum, and
// all learners continue from it.
//   d = s (z - 1/k sum_j w_j);  v <- mu v + d;  z <- z - r (nesterov ? d + mu v : v);  w_j <- z
//
// Evaluated is z itself right after a synchronisation, then the mean of the learners, as in local SGD: so no iteration
// is lost when training ends between two synchronisations. After a failed task it is z. A restart of the weights makes
// the evaluated model z.
#pragma once

#include <functional>
#include <memory>

#include "sync/synchroniser.h"

namespace arbalest {

struct OuterStep {
  double momentum = 0;  // mu
  bool nesterov = false;
  TauSchedule tau = 1;
  StatesAtSync states = StatesAtSync::keep;
  // s and r in the iteration that synchronises.
  std::function<double(int64_t iteration)> scale, rate;
};

// Usage error unless 0 <= momentum < 1 and 0 < learning_rate < `bound`; `algorithm` begins the message.
void check_outer(const char* algorithm, double learning_rate, double momentum, double bound);
std::unique_ptr<Synchroniser> make_outer(const Learners& learners, Collective& collective, const OuterStep& step);

}  // namespace arbalest
