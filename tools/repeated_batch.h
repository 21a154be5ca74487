// Trains with one batch that never changes, as references do, and says what came out.
#pragma once

#include <memory>

#include "sync/trainer.h"
#include "tools/comparison.h"
#include "tools/session.h"

namespace arbalest::tools {

struct ReferenceBatch {
  Tensors feeds;                   // by input
  std::vector<HostTensor> labels;  // in the order of the losses that take one
};

// The axis of the batch; the first where the model fixes the batch; none for what has no batch.
std::optional<size_t> batch_axis(const Shape& shape, const std::string& symbol);
// Sizes of one example by input.
DataFacts facts_of(const ReferenceBatch& batch);
// Sizes of the symbols in the inputs' shapes; with the batch also of those that only the labels' shapes have.
Bindings bindings_of(const Graph& graph, const Tensors& feeds);
Bindings bindings_of(const Graph& graph, const ReferenceBatch& batch);
// Feeds what the plan takes; floats are converted. Usage error for an input that the feeds lack, and for wrong sizes.
void feed(Replica& replica, const ReferenceBatch& batch);

// Computes the outputs of a graph again and again, for feeds of any shapes; new shapes cost a plan.
class ForwardRun {
 public:
  ForwardRun(const Graph& graph, int threads);
  Tensors outputs(const ReferenceBatch& batch);
  int64_t plans_made() const { return plans_->plans_made(); }

 private:
  std::shared_ptr<PlanFamily> plans_;
  AlignedBytes parameters_, states_;
  std::unique_ptr<SegmentedReplica> replica_;
};

Tensors run_once(const Graph& graph, const ReferenceBatch& batch, int threads);

class RepeatedBatch {
 public:
  // The batches of several learners, and those that one accumulates, are equal parts of the batch.
  RepeatedBatch(const Session& session, const ReferenceBatch& batch, const TrainerOptions& options);

  double step();            // gives its loss
  Tensors outputs() const;  // of the first learner
  Tensors gradients();      // the mean over the learners
  Tensors trained() { return session_.completed(trainer_->trained()); }

 private:
  const Session& session_;
  std::vector<ReferenceBatch> parts_;
  std::vector<size_t> next_;  // part, by learner
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace arbalest::tools
