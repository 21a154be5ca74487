// Local SGD: w_j <- w_j - step_j in every iteration, and at the end of every tau iterations w_j <- 1/k sum_i w_i.
// This is the hierarchical algorithm whose every synchronisation is one of all devices. With tau 1 and momentum, the
// mean of the learners moves as S-SGD does: post-local SGD begins so.
#include "sync/synchroniser.h"

namespace arbalest {

std::unique_ptr<Synchroniser> make_local(const Learners& learners, Collective& collective,
                                         const LocalOptions& options) {
  return make_hierarchical(learners, collective, {options.tau, 1, options.states});
}

}  // namespace arbalest
