// The options of a training step that `train` and `bench` share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "sync/trainer.h"

namespace arbalest::tools {

struct TrainingArguments {
  int learners = 1;
  int threads = 1;
  int64_t batch = 16;
  float learning_rate = 0.01f;
  float momentum = 0.9f;
  float weight_decay = 0;
  bool nesterov = false;
  std::string sync = "auto";
  std::optional<float> alpha;
  float central_momentum = 0;
  int tau = 1;
  uint64_t seed = 1;
  bool normalise = true;
};

void add_training_options(CLI::App& command, TrainingArguments& arguments);
void add_synchroniser_options(CLI::App& command, TrainingArguments& arguments);
TrainerOptions trainer_options(const TrainingArguments& arguments);
// "2 learners x 1 thread, batch 16 each, SMA alpha 0.5"
std::string describe_training(const TrainingArguments& arguments, const Trainer& trainer);

}  // namespace arbalest::tools
