// The options of the optimiser, its parameter groups and the learning-rate schedule.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "onnx_import/parameters.h"
#include "sync/schedule.h"
#include "sync/trainer.h"

namespace arbalest::tools {

struct OptimiserArguments {
  OptimiserOptions options;  // but for the kind and what only some kinds have: below
  std::string kind = "sgd";
  std::optional<double> learning_rate, momentum, dampening, trust;  // none: the optimiser's own
  std::vector<std::string> rates, decays;                           // GLOB=NUMBER
  bool decay_weights_only = false;
  int accumulate = 1;
  std::string schedule_kind = "constant";
  double warmup = 0;  // epochs
  std::optional<double> gamma, step, floor;
  std::optional<int> patience;
  std::vector<double> milestones;
};

void add_optimiser_options(CLI::App& command, OptimiserArguments& arguments);
void add_schedule_options(CLI::App& command, OptimiserArguments& arguments);

// Usage errors for options that the chosen optimiser or schedule does not have.
OptimiserOptions optimiser_options(const OptimiserArguments& arguments);
ScheduleOptions schedule_options(const OptimiserArguments& arguments);
double learning_rate(const OptimiserArguments& arguments);
// What the globs say of the parameters that train; usage error for a glob that matches none.
std::map<std::string, ParameterSetting> parameter_settings(const OptimiserArguments& arguments,
                                                           const std::vector<ParameterReport>& parameters);

}  // namespace arbalest::tools
