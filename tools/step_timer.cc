#include "tools/step_timer.h"

#include <algorithm>
#include <chrono>

namespace arbalest::tools {
namespace {

// The weights must not run away, whatever the labels and however long it takes.
TrainingArguments hardly_learning(TrainingArguments arguments) {
  arguments.optimiser.learning_rate = 1e-6;
  return arguments;
}

TrainerOptions timed_options(const Session& session, const TrainingArguments& arguments, Trace* trace) {
  TrainerOptions options = trainer_options(arguments);
  options.parameters = parameter_settings(arguments.optimiser, session.training.parameters);
  options.trace = trace;
  return options;
}

}  // namespace

StepTimer::StepTimer(const Session& session, TrainingArguments arguments, Trainer::LoadBatch load, Trace* trace)
    : trainer_(session.training.graph, session.batch(arguments.batch), cpu::kernel_set(),
               timed_options(session, hardly_learning(arguments), trace), std::move(load)),
      examples_(static_cast<double>(arguments.step_examples())) {}

double StepTimer::time(int64_t iterations) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  trainer_.run(iterations);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<double> StepTimer::rates(int windows, double seconds) {
  if (iteration_seconds_ == 0) {
    time(1);  // touches its memory for the first time
    int64_t iterations = 1;
    double took = time(iterations);
    while (took < seconds / 4) took = time(iterations *= 2);
    iteration_seconds_ = took / static_cast<double>(iterations);
  }
  const int64_t iterations = std::max<int64_t>(1, static_cast<int64_t>(seconds / iteration_seconds_));
  std::vector<double> rates;
  for (int w = 0; w < windows; ++w) rates.push_back(static_cast<double>(iterations) * examples_ / time(iterations));
  return rates;
}

}  // namespace arbalest::tools
