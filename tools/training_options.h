// The options of a training step that `train` and `bench` share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "sync/trainer.h"
#include "tools/optimiser_options.h"
#include "tools/synchroniser_options.h"

namespace arbalest::tools {

struct TrainingArguments {
  int learners = 1;  // on each device
  int devices = 1;
  int threads = 1;             // of each learner
  bool tuned = false;          // the learners are to be found: tune_learners()
  bool threads_given = false;  // so they are not to be found
  int64_t batch = 16;
  OptimiserArguments optimiser;
  SynchroniserArguments synchroniser;
  uint64_t seed = 1;
  bool normalise = true;
  int all_learners() const { return learners * devices; }
  int64_t step_examples() const { return all_learners() * batch * optimiser.accumulate; }
};

void add_training_options(CLI::App& command, TrainingArguments& arguments);
// "auto" or a number.
CLI::Validator learner_count();
// How many threads and devices, and the synchroniser.
void add_learner_options(CLI::App& command, TrainingArguments& arguments);
// All but what depends on the model's parameters and on the data: parameter_settings(), the schedule.
TrainerOptions trainer_options(const TrainingArguments& arguments);
std::string learners_text(int learners, int threads);  // "2 learners x 1 thread"
// "2 learners x 1 thread, batch 16 each, SMA alpha 0.5"
std::string describe_training(const TrainingArguments& arguments);

}  // namespace arbalest::tools
