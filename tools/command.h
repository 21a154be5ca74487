// The sub-commands of `arbalest`, one file each. add_<name>() declares options and help; the returned function runs it
// and gives the exit code: 0 done, 1 failed, 2 wrong usage.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace arbalest::tools {

using Run = std::function<int()>;

Run add_new(CLI::App& app);
Run add_inspect(CLI::App& app);
Run add_train(CLI::App& app);
Run add_eval(CLI::App& app);
Run add_verify(CLI::App& app);
Run add_bench(CLI::App& app);
Run add_simulate(CLI::App& app);
Run add_operators(CLI::App& app);

}  // namespace arbalest::tools
