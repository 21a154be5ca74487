// A training run of `arbalest train`: trains in parts, evaluates between them, writes checkpoints and the model.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sync/checkpoint.h"
#include "sync/evaluator.h"
#include "sync/model_average.h"
#include "sync/schedule.h"
#include "tools/averaging.h"
#include "tools/dataset_feed.h"
#include "tools/interval.h"
#include "tools/meter.h"
#include "tools/session.h"
#include "tools/training_options.h"
#include "tools/training_report.h"
#include "tools/tuning.h"

namespace arbalest::tools {

struct TrainOptions {
  ModelArguments model;
  TrainingArguments training;
  AveragingArguments averaging;
  ReportArguments report;
  std::string data, out, trace;
  double holdout = 0.1, target_accuracy = 0;
  int64_t epochs = 5;
  std::optional<Interval> evaluate_every;  // none: as many epochs as keep it cheap
  int early_stop = 0;                      // evaluations without progress; 0: never
  bool keep_best = false;
  std::string checkpoints;  // folder; empty: none
  Interval checkpoint_every;
  int checkpoints_kept = 2;
  bool resume = false;
  bool inference_form = false, training_info = false, initialise = false;
  std::map<std::string, std::string> given;  // options on which the trained weights depend, as the user wrote them
};

class TrainingRun {
 public:
  explicit TrainingRun(const TrainOptions& o);
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  using Tensors = std::map<std::string, HostTensor>;

  // training_checkpoint.cc
  std::optional<FoundCheckpoint> find_checkpoint();
  bool continues() const;  // the checkpoint is of learners as these
  int64_t first_iteration() const;
  Session opened_session();
  std::string identity() const;  // what shapes the learners' arrays and their batches
  void restore();
  void restore_progress(const nlohmann::json& progress);
  void restore_best(const nlohmann::json& progress);
  std::string changed_options() const;  // since the checkpoint: "--lr 0.01 (was 0.02)"
  void write_checkpoint();

  // training_evaluation.cc
  static constexpr const char* kBySignal = "by a signal";
  bool part_is_done(int64_t part) const;
  double part_end(int64_t part) const;  // epochs; the first part is 1, each ends with an evaluation
  void finish_part(double epoch);
  void evaluate(EpochRecord& record);
  Interval evaluation_interval() const;
  bool improved(const EpochRecord& record) const;
  int evaluations_since_best() const;
  std::string reason_to_stop() const;  // before all epochs; empty: none

  // training_description.cc
  void describe() const;
  nlohmann::json start_facts() const;
  void show(double epoch);

  // The checkpoint's learners and threads where they continue it, else as measured; where the user leaves it open.
  Tuning choose_learners();
  TrainerOptions training_options() const;

  void train();
  bool train_until(double epoch);  // false: stop
  int64_t next_halt(int64_t last) const;
  void advance(int64_t count);
  void at_halt(int64_t last);
  bool checkpoint_is_due() const { return checkpoints_ && iterations_ - last_checkpoint_ >= checkpoint_interval(); }

  ModelView model();  // the one that is evaluated
  void write_model();
  std::string written_model() const;  // "the best model, of epoch 3"
  void write_trace() const;
  RunTimes times() const;

  double learning_rate_of(int64_t iteration) const;
  int64_t iterations_until(double epochs) const;
  int64_t iterations_of(const Interval& interval) const;
  double epochs_after(int64_t iterations) const;
  int64_t checkpoint_interval() const { return iterations_of(o_.checkpoint_every); }
  int64_t progress_interval() const { return std::max<int64_t>(1, iterations_until(o_.report.log_every)); }
  int64_t examples_of_step() const { return o_.training.step_examples(); }

  TrainOptions o_;  // with the learners and threads that were chosen
  DataSplits data_;
  std::unique_ptr<CheckpointFolder> checkpoints_;
  std::optional<FoundCheckpoint> found_;
  Session session_;
  Normalisation normalisation_;
  Schedule schedule_;
  Tuning tuning_;
  TrainingFeed feed_;
  std::unique_ptr<Trace> trace_;
  Trainer trainer_;
  std::optional<ModelAverage> average_;
  EvaluationFeed test_;
  ModelEvaluator evaluator_;
  TrainingReport report_;
  const bool restarts_at_falls_;   // of the learning rate
  std::vector<int64_t> restarts_;  // iterations still to come before which the averaging begins anew
  int64_t iterations_ = 0, last_checkpoint_ = 0;
  bool continued_ = false;  // bit for bit, from the checkpoint
  bool average_lost_ = false;
  std::string stopped_;    // before all epochs: why
  Meter part_, progress_;  // since the last evaluation, and the last message of progress
  RunTimes times_;         // but for wall, which is that of runs before this one
  Clock::time_point begin_;
  std::optional<EpochRecord> best_;
  Tensors best_tensors_;
  std::vector<int64_t> confusion_;  // of the model that will be written, as far as it was evaluated
};

}  // namespace arbalest::tools
