// The options that say how the learners are kept together.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "sync/trainer.h"

namespace arbalest::tools {

struct SynchroniserArguments {
  std::string sync = "auto";
  std::optional<double> alpha, central_momentum, outer_learning_rate, outer_momentum;
  std::string tau, states;  // empty: the algorithm's own
  std::optional<int64_t> global_every;
  std::string restart;  // empty: the algorithm's own
};

void add_synchroniser_options(CLI::App& command, SynchroniserArguments& arguments);
// Sets the kind and the options of all kinds. Usage error for an option that the kind named by --sync does not have
// (auto: that of sma), and for an alpha that is stable for no number of learners.
void set_synchroniser(TrainerOptions& options, const SynchroniserArguments& arguments);
// "SMA alpha 0.5, central momentum 0.9"; empty for a learner alone.
std::string describe_synchroniser(const TrainerOptions& options);

}  // namespace arbalest::tools
