// How the learners are kept together, one file an algorithm: what it keeps, the tasks it adds, which model is
// evaluated.
//
// Sums run over the learners in their order, so that the results have the same bits on any timing. A synchroniser is
// made before training, when all streams are at rest; it makes all replicas equal to the first learner's. Then
// add_tasks() is called once; restart() and evaluated() only while the streams are at rest.
#pragma once

#include <memory>
#include <optional>

#include "sync/collective/collective.h"
#include "sync/learners.h"
#include "sync/task_graph.h"

namespace arbalest {

struct ModelView {
  const float* weights = nullptr;
  const float* statistics = nullptr;
};

class Synchroniser {
 public:
  virtual ~Synchroniser() = default;
  virtual void add_tasks(TaskGraph& tasks) = 0;
  // For a step of the learning rate: the optimiser's states are cleared; what else, the algorithm says.
  virtual void restart() = 0;
  // The model to evaluate and save; its statistics are the mean of the learners'. Valid until the next iteration. After
  // a failed task it is the last one that was complete.
  virtual ModelView evaluated() = 0;
};

// The learners and the collective must outlive the synchroniser.

// Every learner for itself; the first is evaluated.
std::unique_ptr<Synchroniser> make_none(const Learners& learners);

// Synchronous SGD: all learners take the same step with the mean of their gradients and stay equal.
std::unique_ptr<Synchroniser> make_ssgd(const Learners& learners, Collective& collective);

// Synchronous model averaging (Koliousis et al., CROSSBOW, PVLDB 12(11), Algorithm 1).
struct SmaOptions {
  // How strongly a replica and z pull each other; 0 < alpha < 2 (1 + mu) / (k + 1 + mu), else a usage error. Without a
  // value 1 / k; for k = 1 and mu = 0, where that is the bound itself, 1 / 2.
  std::optional<double> alpha;
  double central_momentum = 0.9;  // mu; 0 <= mu < 1
  int64_t tau = 1;                // iterations t with t mod tau = tau - 1 synchronise, the others are local
};
double sma_alpha(const SmaOptions& options, size_t k);  // the alpha that is used; usage error for impossible options
// z is evaluated. restart(): all replicas := z, z_previous := z.
std::unique_ptr<Synchroniser> make_sma(const Learners& learners, Collective& collective, const SmaOptions& options);

}  // namespace arbalest
