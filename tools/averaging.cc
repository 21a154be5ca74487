#include "tools/averaging.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/base/error.h"

namespace arbalest::tools {

void add_averaging_options(CLI::App& command, AveragingArguments& a) {
  CLI::Option* ema =
      command
          .add_option("--ema", a.ema,
                      "evaluate and write an exponential moving average of the model, with this decay, such as 0.999;\n"
                      "running statistics of BatchNormalization are averaged likewise")
          ->check(CLI::Range(0.0, 0.9999999));
  command
      .add_option("--ema-every", a.ema_every,
                  "iterations between the models that enter this average; more cost less time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->needs(ema);
  CLI::Option* swa =
      command
          .add_option("--swa-from", a.swa_from,
                      "stochastic weight averaging: from the end of this epoch on, evaluate and write the mean of the\n"
                      "models at the ends of epochs; running statistics of BatchNormalization are averaged likewise")
          ->check(CLI::NonNegativeNumber)
          ->excludes(ema);
  command.add_option("--swa-every", a.swa_every, "epochs between the models that enter this mean")
      ->check(CLI::Range(0.01, 1e6))
      ->capture_default_str()
      ->needs(swa);
}

void check_averaging(const AveragingArguments& a, int64_t epochs) {
  if (a.ema && !(*a.ema >= 0 && *a.ema < 1))
    throw Error(ErrorKind::usage, "--ema {}: a decay is at least 0 and less than 1", *a.ema);
  if (a.swa_from && !(*a.swa_from <= static_cast<double>(epochs)))
    throw Error(ErrorKind::usage, "--swa-from {:g}: the run has {} epochs", *a.swa_from, epochs);
  if (!(a.swa_every > 0)) throw Error(ErrorKind::usage, "--swa-every {}: must be above 0", a.swa_every);
}

std::string describe_averaging(const AveragingArguments& a) {
  if (a.ema)
    return fmt::format("exponential, decay {}, every {}", *a.ema,
                       a.ema_every == 1 ? "iteration" : fmt::format("{} iterations", a.ema_every));
  if (a.swa_from)
    return fmt::format("equal weights, from epoch {:g} on, every {}", *a.swa_from,
                       a.swa_every == 1 ? "epoch" : fmt::format("{:g} epochs", a.swa_every));
  return "";
}

int64_t next_averaging(const AveragingArguments& a, int64_t iterations,
                       const std::function<int64_t(double)>& iterations_until) {
  if (a.ema) return (iterations / a.ema_every + 1) * a.ema_every;
  if (!a.swa_from) return std::numeric_limits<int64_t>::max();
  for (double i = 0;; ++i) {
    const int64_t at = std::max<int64_t>(1, iterations_until(*a.swa_from + i * a.swa_every));
    if (at > iterations) return at;
  }
}

}  // namespace arbalest::tools
