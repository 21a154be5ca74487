// A training run of `arbalest train`: trains in parts, evaluates between them, writes checkpoints and the model.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sync/checkpoint.h"
#include "sync/evaluator.h"
#include "sync/schedule.h"
#include "tools/dataset_feed.h"
#include "tools/progress.h"
#include "tools/session.h"
#include "tools/training_options.h"

namespace arbalest::tools {

struct TrainOptions {
  ModelArguments model;
  TrainingArguments training;
  std::string data, out, log, trace;
  double holdout = 0.1, target_accuracy = 0;
  int64_t epochs = 5;
  double evaluate_every = 1;  // epochs
  int early_stop = 0;         // evaluations without progress; 0: never
  bool keep_best = false;
  std::string checkpoints;      // folder; empty: none
  double checkpoint_every = 1;  // epochs
  int checkpoints_kept = 2;
  bool resume = false;
  bool inference_form = false, training_info = false, initialise = false;
};

class TrainingRun {
 public:
  explicit TrainingRun(const TrainOptions& o);
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  using Tensors = std::map<std::string, HostTensor>;

  std::optional<FoundCheckpoint> find_checkpoint();
  bool continues() const;  // the checkpoint is of a run with these options
  int64_t first_iteration() const;
  Session opened_session();
  TrainerOptions training_options() const;
  std::string identity() const;  // the options on which bits depend
  void describe() const;
  void restore();
  void write_checkpoint();

  bool train_until(double epoch);  // false: stop
  int64_t next_halt(int64_t last) const;
  int64_t checkpoint_interval() const { return std::max<int64_t>(1, iterations_until(o_.checkpoint_every)); }
  void finish_part(double epoch);
  void evaluate(EpochRecord& record);
  bool improved(const EpochRecord& record) const;
  void show(double epoch, double fraction, double rate, double left);
  void write_model();
  void write_trace() const;
  int64_t iterations_until(double epochs) const;
  int64_t examples_of_step() const {
    return o_.training.all_learners() * o_.training.batch * o_.training.optimiser.accumulate;
  }

  const TrainOptions& o_;
  DataSplits data_;
  std::unique_ptr<CheckpointFolder> checkpoints_;
  std::optional<FoundCheckpoint> found_;
  Session session_;
  TrainingFeed feed_;
  Schedule schedule_;
  std::unique_ptr<Trace> trace_;
  Trainer trainer_;
  EvaluationFeed test_;
  ModelEvaluator evaluator_;
  JsonLog log_;
  LiveLine line_;
  std::vector<EpochRecord> records_;
  std::vector<int64_t> restarts_;  // iterations still to come before which the averaging begins anew
  int64_t iterations_ = 0, last_checkpoint_ = 0;
  double part_seconds_ = 0, part_loss_ = 0;  // since the last evaluation; the loss is a sum over iterations
  int64_t part_begin_ = 0;
  double training_seconds_ = 0;
  std::optional<EpochRecord> best_;
  Tensors best_tensors_;
};

}  // namespace arbalest::tools
