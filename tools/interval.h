// How often something is done in a training run: so many epochs, or so many iterations.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

namespace arbalest::tools {

struct Interval {
  double epochs = 1;
  int64_t iterations = 0;  // 0: `epochs` counts
};

// An option that takes "0.25": epochs, from 0.0001 to 1e9; "500it": iterations, at most 1e12. Anything else is wrong
// usage.
CLI::Option* add_interval_option(CLI::App& command, const std::string& name,
                                 const std::function<void(const Interval&)>& set, const std::string& help);

}  // namespace arbalest::tools
