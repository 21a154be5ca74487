// Elastic averaging SGD, equations 2 and 3: with all terms at their values at the start of the iteration,
//   w_j <- w_j - step_j - alpha (w_j - z)      for every learner j
//   z'   = (1 - beta) z + beta 1/k sum_j w_j   with beta = k alpha (elastic symmetry)
//        = z + alpha sum_j (w_j - z)
// in the iterations that synchronise (algorithm 1: every tau-th); in the others the learners are on their own. This is
// SMA whose central model has no momentum, and shares its tasks. beta is 0.9, as in the paper, unless alpha is given.
// The optimiser's states of the learners are their own: synchronising keeps them, a restart alone clears them.
#include "graph/base/error.h"
#include "sync/synchroniser.h"

namespace arbalest {

SmaOptions as_sma(const EasgdOptions& options, size_t k) {
  const double alpha = options.alpha.value_or(0.9 / static_cast<double>(k));
  const double bound = alpha_bound(0, k);
  if (!(alpha > 0 && alpha < bound)) {
    throw Error(
        ErrorKind::usage,
        "alpha {}: EA-SGD is stable only between 0 and {:.4g} for {} learner{}; leave it out for 0.9 / learners", alpha,
        bound, k, k == 1 ? "" : "s");
  }
  return {alpha, 0.0, options.tau};
}

std::unique_ptr<Synchroniser> make_easgd(const Learners& learners, Collective& collective,
                                         const EasgdOptions& options) {
  return make_sma(learners, collective, as_sma(options, learners.count()));
}

}  // namespace arbalest
