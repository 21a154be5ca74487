// How often something is done in a training run: so many epochs, or so many iterations.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace arbalest::tools {

struct Interval {
  double epochs = 1;
  int64_t iterations = 0;  // 0: `epochs` counts
};

// "0.25": epochs, from 0.0001 to 1e9; "500it": iterations, at most 1e12. Usage error for anything else.
Interval parse_interval(const std::string& text);
CLI::Validator interval_text();

}  // namespace arbalest::tools
