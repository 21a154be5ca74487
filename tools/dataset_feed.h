// Data sets for replicas: batches for learners while training, examples in order while evaluating.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/batch_loader.h"
#include "data/catalog.h"
#include "data/normalisation.h"
#include "exec/replica.h"
#include "sync/evaluator.h"
#include "tools/session.h"
#include "tools/training_options.h"

namespace arbalest::tools {

class TrainingFeed {
 public:
  // `first_batch`: of each learner, where a run goes on.
  TrainingFeed(const Dataset& data, const Session& session, const TrainingArguments& arguments,
               const Normalisation& normalisation, uint64_t first_batch = 0);
  // The learner's next batch into its replica; waits while it is not ready. Called on the learner's thread.
  void load(int learner, Replica& replica);

 private:
  std::vector<std::string> names_;
  BatchLoader loader_;
};

class EvaluationFeed {
 public:
  EvaluationFeed(const Dataset& data, const Session& session, const Normalisation& normalisation);
  LoadExamples loader() const;

 private:
  const Dataset& data_;
  std::vector<std::string> names_;
  BatchFiller filler_;
};

// Usage error where labels do not fit the loss: classes out of range, sizes that differ ("label: ...").
void check_labels_fit(const Dataset& data, const Session& session);
// Usage error where there are fewer examples than the model's fixed batch: none could be evaluated.
void check_fills_a_batch(const Dataset& data, const Session& session);
std::string describe_normalisation(const Normalisation& normalisation);  // "; mean 0.2860, deviation 0.3530"

}  // namespace arbalest::tools
