// Averaging the model over time while it trains: the options, and the iterations after which it enters the average.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace arbalest::tools {

struct AveragingArguments {
  std::optional<double> ema;  // decay
  int64_t ema_every = 1;      // iterations
  std::optional<double> swa_from;
  double swa_every = 1;  // epochs
  bool on() const { return ema || swa_from; }
};

void add_averaging_options(CLI::App& command, AveragingArguments& arguments);
// Usage error for numbers that are none or out of range, and for a mean that would begin after the last epoch.
void check_averaging(const AveragingArguments& arguments, int64_t epochs);
std::string describe_averaging(const AveragingArguments& arguments);  // "SWA from epoch 3 on, every epoch"; "": none

// The first iteration number above `iterations` after which the model enters the average; a number that no run reaches
// where there is none.
int64_t next_averaging(const AveragingArguments& arguments, int64_t iterations,
                       const std::function<int64_t(double)>& iterations_until);

}  // namespace arbalest::tools
