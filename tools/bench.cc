// arbalest bench: how fast a model trains on this machine, with resident data.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/command.h"
#include "tools/machine.h"
#include "tools/random_feeds.h"
#include "tools/session.h"
#include "tools/table.h"
#include "tools/training_options.h"

namespace arbalest::tools {
namespace {

struct BenchOptions {
  ModelArguments model;
  TrainingArguments training;
  std::vector<int64_t> batches{2, 8, 32};
  std::vector<int> learners{1};
  double seconds = 1;
  int windows = 3;
  bool json = false, profile = false;
};

struct Result {
  int64_t batch = 0;
  int learners = 0;
  double images_per_second = 0, step_ms = 0, gflops = 0;
};

Result measure(const BenchOptions& o, const Session& session, int64_t batch, int learners) {
  TrainingArguments arguments = o.training;
  arguments.batch = batch;
  arguments.learners = learners;
  arguments.optimiser.learning_rate = 1e-6;  // random labels: the weights must not run away
  const int64_t classes = session.classes().value_or(2);
  const int all = arguments.all_learners();
  std::vector<char> filled(all, 0);
  TrainerOptions options = trainer_options(arguments);
  options.parameters = parameter_settings(arguments.optimiser, session.training.parameters);
  Trainer trainer(session.training.graph, session.batch(batch), cpu::kernel_set(), options,
                  [&](int learner, Replica& replica) {
                    if (filled[learner]) return;
                    feed_random(replica, classes);
                    filled[learner] = 1;
                  });
  using Clock = std::chrono::steady_clock;
  const auto time = [&](int64_t iterations) {
    const auto begin = Clock::now();
    trainer.run(iterations);
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  time(3);
  int64_t iterations = 4;
  double took = time(iterations);
  while (took < o.seconds / 4) took = time(iterations *= 2);
  iterations = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(iterations) * o.seconds / took));
  std::vector<double> rates;
  for (int w = 0; w < o.windows; ++w) rates.push_back(static_cast<double>(iterations) / time(iterations));
  std::sort(rates.begin(), rates.end());
  const double rate = rates[rates.size() / 2];
  return {batch, learners, rate * static_cast<double>(batch * all), 1e3 / rate,
          trainer.plan().flops() * rate * all / 1e9};
}

// Where a step's time goes, on one thread.
void print_profile(const BenchOptions& o, const Session& session, int64_t batch) {
  CompileOptions compile_options;
  compile_options.threads = o.training.threads;
  const auto plan = compile(session.training.graph, session.batch(batch), cpu::kernel_set(), compile_options);
  AlignedBytes parameters(plan->parameters()->bytes()), gradients(parameters.size()), states(plan->states()->bytes());
  Replica replica(plan, {parameters.data(), gradients.data(), states.data()});
  feed_random(replica, session.classes().value_or(2));
  std::vector<double> seconds;
  replica.run();
  int runs = 0;
  double total = 0;
  for (; total < o.seconds && runs < 10000; ++runs) {
    replica.run_timed(seconds);
    total = 0;
    for (double s : seconds) total += s;
  }
  Table table({">us", ">%", ">GFLOP/s", "step", "node", "implementation", "layouts"});
  for (size_t i = 0; i < seconds.size(); ++i) {
    const PlanStep& step = plan->steps()[i];
    const double s = seconds[i] / runs;
    table.add({fmt::format("{:.1f}", s * 1e6), fmt::format("{:.1f}", 100 * seconds[i] / total),
               step.kernel.flops > 0 ? fmt::format("{:.1f}", step.kernel.flops / s / 1e9) : "", step.name, step.origin,
               step.kernel.implementation, step.layouts});
  }
  fmt::print("batch {}: forward and backward take {:.3f} ms\n{}\n", batch, total / runs * 1e3, table.text());
}

int run_bench(const BenchOptions& o) {
  const Session session = open_session(o.model, {});
  if (o.profile) {
    for (int64_t batch : o.batches) print_profile(o, session, batch);
    return 0;
  }
  const int most = *std::max_element(o.learners.begin(), o.learners.end()) * o.training.devices * o.training.threads;
  const double peak = measured_peak_gflops(std::min(most, core_count()));
  nlohmann::json results = nlohmann::json::array();
  Table table({">batch", ">learners", ">images/s", ">ms/step", ">GFLOP/s", ">of peak"});
  for (int learners : o.learners)
    for (int64_t batch : o.batches) {
      const Result r = measure(o, session, batch, learners);
      table.add({std::to_string(r.batch), std::to_string(r.learners),
                 with_thousands(static_cast<int64_t>(r.images_per_second)), fmt::format("{:.3f}", r.step_ms),
                 fmt::format("{:.1f}", r.gflops), fmt::format("{:.0f} %", 100 * r.gflops / peak)});
      results.push_back({{"batch", r.batch},
                         {"learners", r.learners},
                         {"threads_per_learner", o.training.threads},
                         {"sync", o.training.synchroniser.sync},
                         {"images_per_second", r.images_per_second},
                         {"step_ms", r.step_ms},
                         {"gflops", r.gflops},
                         {"share_of_peak", r.gflops / peak}});
    }
  if (o.json)
    fmt::print("{}\n", nlohmann::json{{"model", o.model.path}, {"peak_gflops", peak}, {"results", results}}.dump(1));
  else
    fmt::print("{}; measured peak of {} thread{}: {:.0f} GFLOP/s\n{}", machine_text(), std::min(most, core_count()),
               most == 1 ? "" : "s", peak, table.text());
  return 0;
}

}  // namespace

Run add_bench(CLI::App& app) {
  auto o = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "images a second of training, with resident data");
  add_model_argument(*command, o->model);
  command->add_option("--batch", o->batches, "examples a learner takes in a step")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--learners", o->learners, "numbers of learners")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_learner_options(*command, o->training);
  add_loss_options(*command, o->model);
  command->add_option("--seconds", o->seconds, "length of a window")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--windows", o->windows, "windows; the median is printed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--json", o->json, "print JSON");
  command->add_flag("--profile", o->profile, "time each step of the plan instead");
  command->footer(
      "Examples:\n  arbalest bench lenet.onnx --batch 2,16,64 --learners 1,2 --sync sma\n"
      "  arbalest bench resnet.onnx --batch 16 --profile");
  return [o] { return run_bench(*o); };
}

}  // namespace arbalest::tools
