// DiLoCo, algorithm 1: from theta_{t-1} the learners take tau (H in the paper) steps of their own; then
//   delta_t = 1/k sum_j (theta_{t-1} - theta_j)
//   v_t     = mu v_{t-1} + delta_t
//   theta_t = theta_{t-1} - rate (delta_t + mu v_t)     (Nesterov momentum as in torch.optim.SGD)
// and all learners continue from theta_t. Where the mean of the learners would stay, this is Nesterov's method on a
// parabola of curvature 1, which converges for rate < 2 (1 + mu) / (1 + 2 mu).
#include "sync/synchroniser/outer_step.h"

namespace arbalest {

std::unique_ptr<Synchroniser> make_diloco(const Learners& learners, Collective& collective,
                                          const DilocoOptions& options) {
  check_outer("DiLoCo", options.learning_rate, options.momentum,
              2 * (1 + options.momentum) / (1 + 2 * options.momentum));
  OuterStep step;
  step.momentum = options.momentum;
  step.nesterov = true;
  step.tau = options.tau;
  step.states = options.states;
  step.scale = [](int64_t) { return 1.0; };
  step.rate = [rate = options.learning_rate](int64_t) { return rate; };
  return make_outer(learners, collective, step);
}

}  // namespace arbalest
