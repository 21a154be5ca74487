// SlowMo, algorithm 1: from x_{t,0} the learners take tau steps of their own with learning rate gamma; then
//   u_{t+1}   = beta u_t + 1/gamma (x_{t,0} - x_{t,tau})     where x_{t,tau} is the mean of the learners
//   x_{t+1,0} = x_{t,0} - alpha gamma u_{t+1}
// gamma is the learning rate of the iteration that synchronises. Where x_{t,tau} would stay, this is the heavy ball on
// a parabola of curvature 1, which converges for alpha < 2 (1 + beta).
#include "sync/synchroniser/outer_step.h"

namespace arbalest {

std::unique_ptr<Synchroniser> make_slowmo(const Learners& learners, Collective& collective,
                                          const SlowMoOptions& options) {
  check_outer("SlowMo", options.learning_rate, options.momentum, 2 * (1 + options.momentum));
  OuterStep step;
  step.momentum = options.momentum;
  step.tau = options.tau;
  step.states = options.states;
  step.scale = [&learners](int64_t t) {
    const double gamma = learners.learning_rate(t);
    return gamma > 0 ? 1 / gamma : 0;  // without a learning rate nobody has moved
  };
  step.rate = [&learners, alpha = options.learning_rate](int64_t t) { return alpha * learners.learning_rate(t); };
  return make_outer(learners, collective, step);
}

}  // namespace arbalest
