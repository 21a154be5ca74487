// Trains a model as its own training_info describes: loss, optimiser and their state lie in the file.
#pragma once

#include <cstdint>
#include <string>

#include "tools/training_options.h"

namespace arbalest::tools {

struct OwnTraining {
  std::string model, data, out;
  int64_t epochs = 1;
  double holdout = 0.1;
  bool initialise = false;  // by the file's own rules, before the first iteration
  TrainingArguments training;
};

// Inputs of the model take the data's inputs; the one input that only the algorithms have takes the labels. Prints a
// line for each epoch; the written file has the new values and its training_info.
int train_by_training_info(const OwnTraining& options);

}  // namespace arbalest::tools
