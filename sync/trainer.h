// Trains a model: k learners on one or several devices, kept together by a synchroniser.
//
// run() executes a number of iterations; between runs all streams are at rest, and the model may be evaluated, kept or
// read. Same seed, same number of learners: same bits, whatever the timing.
//
// Errors: what a learner's task throws, with the task's name; a loss that is not finite is a model error that names the
// iteration, thrown before that iteration's gradients are used.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/compile.h"
#include "exec/optimiser/optimiser.h"
#include "sync/learner_memory.h"
#include "sync/synchroniser.h"
#include "sync/task_runner.h"

namespace arbalest {

enum class SyncKind : uint8_t { none, ssgd, sma, easgd, local, hierarchical, slowmo, diloco };

// What is special of one parameter.
struct ParameterSetting {
  double rate = 1;  // times the learning rate
  std::optional<double> weight_decay;
};

struct TrainerOptions {
  int learners = 1;  // on each device
  int devices = 1;   // CPU devices of this process
  int threads_per_learner = 1;
  uint64_t seed = 1;
  double learning_rate = 0.01;
  // The learning rate of an iteration, called by several threads; none: constant.
  std::function<double(int64_t iteration)> schedule;
  OptimiserOptions optimiser;
  std::map<std::string, ParameterSetting> parameters;  // by name
  int64_t first_iteration = 0;                         // where the run goes on
  int accumulate = 1;                                  // batches whose mean gradient makes a step
  SyncKind sync = SyncKind::none;
  SmaOptions sma;
  EasgdOptions easgd;
  LocalOptions local;
  HierarchicalOptions hierarchical;
  SlowMoOptions slowmo;
  DilocoOptions diloco;
  RestartParts restart;
  Trace* trace = nullptr;  // gets every task and every wait for a batch; must outlive the trainer
};

std::unique_ptr<Synchroniser> make_synchroniser(const TrainerOptions& options, const Learners& learners,
                                                Collective& collective);
// Arrays of the parameters' size that each device keeps for synchronising, beside those of its learners.
int synchroniser_arrays(const TrainerOptions& options);

class Trainer {
 public:
  // Puts the learner's next batch into the feeds of its replica (of the first segment, where sizes that only the data
  // tell divide the graph). Called on the learner's thread, once a batch.
  using LoadBatch = std::function<void(int learner, Replica& replica)>;

  // `training` has its loss attached; float32 only.
  Trainer(const Graph& training, const Bindings& bindings, const KernelSet& kernels, const TrainerOptions& options,
          LoadBatch load);

  void run(int64_t iterations);
  // Mean over learners and iterations since the last call.
  double take_loss();

  // Flat regions laid out as plan() says. Valid until the next run().
  ModelView evaluated() { return synchroniser_->evaluated(); }
  // Remembers the evaluated model; trained() gives the remembered one from restore_kept() on.
  void keep();
  bool has_kept() const { return has_kept_; }
  void restore_kept() { use_kept_ = true; }
  // Parameters and running statistics by their ONNX names, row-major.
  std::map<std::string, HostTensor> trained();
  std::map<std::string, HostTensor> tensors(const ModelView& model) const;  // of regions laid out as plan() says

  // What a learner computed last: outputs are read from its replica.
  const Replica& replica(int learner) const { return memories_.at(static_cast<size_t>(learner))->replica().whole(); }
  std::map<std::string, HostTensor> gradients(int learner);

  void restart();  // for a step of the learning rate

  // Everything that changes while training: copied back into a trainer of the same options whose first_iteration is
  // iteration(), it continues the run bit for bit.
  std::vector<NamedBytes> arrays();

  const Plan& plan() const { return *plan_; }  // of the first segment
  int64_t plans_made() const { return plans_->plans_made(); }
  const TaskGraph& tasks() const { return runner_->graph(); }
  int64_t iteration() const { return runner_->next_iteration(); }  // of the next
  size_t learner_bytes() const;  // planned: activations, parameters, gradients, optimiser state, statistics

 private:
  struct alignas(64) LossSum {
    double sum = 0;
    int64_t count = 0;
  };

  void make_learners(const Bindings& sizes, const KernelSet& kernels, const TrainerOptions& options);
  void forward_backward(int learner, int64_t iteration);
  double run_batch(int learner, int64_t step);
  void read_slots(const ParameterLayout& layout, const std::byte* region,
                  std::map<std::string, HostTensor>& tensors) const;

  const KernelSet& kernels_;
  LoadBatch load_;
  std::shared_ptr<PlanFamily> plans_;
  std::shared_ptr<const Plan> plan_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<LearnerMemory>> memories_;
  std::vector<LossSum> losses_;
  std::vector<DeviceMemory> accumulated_;  // gradients of a learner's batches so far
  std::unique_ptr<Optimiser> optimiser_;
  int accumulate_;
  RestartParts restart_;
  Learners learners_;
  std::unique_ptr<Collective> collective_;
  std::unique_ptr<Synchroniser> synchroniser_;
  std::unique_ptr<TaskRunner> runner_;  // last: its destruction waits for the streams
  AlignedBytes kept_parameters_, kept_states_;
  bool has_kept_ = false, use_kept_ = false;
};

}  // namespace arbalest
