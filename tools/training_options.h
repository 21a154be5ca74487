// The options of a training step that `train` and `bench` share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "sync/trainer.h"
#include "tools/optimiser_options.h"

namespace arbalest::tools {

struct TrainingArguments {
  int learners = 1;
  int threads = 1;
  int64_t batch = 16;
  OptimiserArguments optimiser;
  std::string sync = "auto";
  std::optional<double> alpha;
  double central_momentum = SmaOptions().central_momentum;
  int64_t tau = 1;
  uint64_t seed = 1;
  bool normalise = true;
};

void add_training_options(CLI::App& command, TrainingArguments& arguments);
void add_synchroniser_options(CLI::App& command, TrainingArguments& arguments);
// All but what depends on the model's parameters and on the data: parameter_settings(), the schedule.
TrainerOptions trainer_options(const TrainingArguments& arguments);
// "2 learners x 1 thread, batch 16 each, SMA alpha 0.5"
std::string describe_training(const TrainingArguments& arguments);

}  // namespace arbalest::tools
