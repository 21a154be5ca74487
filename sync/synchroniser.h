// How the learners are kept together, one file an algorithm: what it keeps, the tasks it adds, which model is
// evaluated.
//
// Sums run over the learners in their order, so that the results have the same bits on any timing. A synchroniser is
// made before training, when all streams are at rest; it makes all replicas equal to the first learner's. Then
// add_tasks() is called once; restart() and evaluated() only while the streams are at rest.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sync/collective/collective.h"
#include "sync/learners.h"
#include "sync/task_graph.h"
#include "sync/tau_schedule.h"

namespace arbalest {

// Memory of a run, as a checkpoint stores it.
struct NamedBytes {
  std::string name;
  std::span<std::byte> bytes;
};
template <class T>
NamedBytes named_bytes(std::string name, std::span<T> elements) {
  return {std::move(name), std::as_writable_bytes(elements)};
}

struct ModelView {
  const float* weights = nullptr;
  const float* statistics = nullptr;
};

// What begins anew at a step of the learning rate.
struct RestartParts {
  bool weights = true;  // all learners := the evaluated model, where they differ
  bool centre = true;   // the momentum of the model that they share is forgotten, where it has one
  bool states = true;   // the optimiser's states are cleared
  bool any() const { return weights || centre || states; }
};

class Synchroniser {
 public:
  virtual ~Synchroniser() = default;
  virtual void add_tasks(TaskGraph& tasks) = 0;
  virtual void restart(const RestartParts& parts) = 0;
  // The model to evaluate and save; its statistics are the mean of the learners'. Valid until the next iteration. After
  // a failed task its weights are still those of a complete step.
  virtual ModelView evaluated() = 0;
  // What the algorithm keeps beside the learners' own arrays; complete, so that copies of it continue a run.
  virtual std::vector<NamedBytes> arrays() { return {}; }
};

// What happens to the optimiser's states of each learner when the weights are averaged.
enum class StatesAtSync : uint8_t { keep, average, clear };

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
  TauSchedule tau = 1;
};
double sma_alpha(const SmaOptions& options, size_t k);  // the alpha that is used; usage error for impossible options
double alpha_bound(double central_momentum, size_t k);  // below which alpha is stable
// z is evaluated.
std::unique_ptr<Synchroniser> make_sma(const Learners& learners, Collective& collective, const SmaOptions& options);

// Elastic averaging SGD, synchronous (Zhang, Choromanska and LeCun, NeurIPS 2015, arXiv 1412.6651).
struct EasgdOptions {
  std::optional<double> alpha;  // 0 < alpha < 2 / (k + 1), else a usage error. Without a value 0.9 / k
  TauSchedule tau = 1;
};
SmaOptions as_sma(const EasgdOptions& options, size_t k);  // usage error for an impossible alpha
// The central variable is evaluated.
std::unique_ptr<Synchroniser> make_easgd(const Learners& learners, Collective& collective, const EasgdOptions& options);

// Averages all learners now and then (Stich, ICLR 2019, arXiv 1805.09767). Post-local SGD (Lin et al., ICLR 2020, arXiv
// 1808.07217) is a tau that begins with 1.
struct LocalOptions {
  TauSchedule tau = 8;
  StatesAtSync states = StatesAtSync::keep;
};
// The mean of the learners is evaluated.
std::unique_ptr<Synchroniser> make_local(const Learners& learners, Collective& collective, const LocalOptions& options);

// Averages the learners of each device often, those of all devices rarely (hierarchical local SGD in Lin et al.).
struct HierarchicalOptions {
  TauSchedule tau = 4;       // inside a device
  int64_t global_every = 4;  // of so many synchronisations the last is one of all devices; usage error below 1
  StatesAtSync states = StatesAtSync::keep;
};
// The mean of the learners is evaluated.
std::unique_ptr<Synchroniser> make_hierarchical(const Learners& learners, Collective& collective,
                                                const HierarchicalOptions& options);

// Slow momentum over the means of the learners (Wang, Tantia, Ballas and Rabbat, ICLR 2020, arXiv 1910.00643).
struct SlowMoOptions {
  double learning_rate = 1;  // alpha; between 0 and 2 (1 + momentum), else a usage error
  double momentum = 0.7;     // beta; 0 <= beta < 1
  TauSchedule tau = 12;
  StatesAtSync states = StatesAtSync::clear;
};
// The mean of the learners is evaluated; right after a synchronisation that is the model from which they continue.
// After a failed task it is the model of the last synchronisation.
std::unique_ptr<Synchroniser> make_slowmo(const Learners& learners, Collective& collective,
                                          const SlowMoOptions& options);

// DiLoCo (Douillard et al., 2023, arXiv 2311.08105): an outer optimiser with Nesterov momentum.
struct DilocoOptions {
  // Between 0 and 2 (1 + momentum) / (1 + 2 momentum), else a usage error.
  double learning_rate = 0.7;
  double momentum = 0.9;  // 0 <= momentum < 1
  TauSchedule tau = 100;
  StatesAtSync states = StatesAtSync::keep;
};
// Evaluated as for SlowMo.
std::unique_ptr<Synchroniser> make_diloco(const Learners& learners, Collective& collective,
                                          const DilocoOptions& options);

}  // namespace arbalest
