// arbalest bench: how fast a model trains on this machine, with resident data.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "graph/segments.h"
#include "tools/command.h"
#include "tools/machine.h"
#include "tools/random_feeds.h"
#include "tools/session.h"
#include "tools/step_timer.h"
#include "tools/table.h"
#include "tools/training_options.h"
#include "tools/tuning.h"

namespace arbalest::tools {
namespace {

struct BenchOptions {
  ModelArguments model;
  TrainingArguments training;
  std::vector<int64_t> batches{2, 8, 32};
  std::vector<std::string> learners{"1"};
  double seconds = 1;
  int windows = 3;
  bool json = false, profile = false;
};

struct Result {
  TrainingArguments arguments;
  Tuning tuning;
  double images_per_second = 0, step_ms = 0, gflops = 0;
};

Result measure(const BenchOptions& o, const Session& session, int64_t batch, const std::string& learners) {
  Result r;
  r.arguments = o.training;
  r.arguments.batch = batch;
  if (learners == "auto") {
    r.tuning = tune_learners(session, r.arguments, {},
                             [&](const TrainingArguments& a) { return resident_batches(session, a.all_learners()); });
  } else {
    r.arguments.learners = std::stoi(learners);
  }
  StepTimer timer(session, r.arguments, resident_batches(session, r.arguments.all_learners()));
  std::vector<double> rates = timer.rates(o.windows, o.seconds);
  std::sort(rates.begin(), rates.end());
  r.images_per_second = rates[rates.size() / 2];
  const double steps = r.images_per_second / timer.examples();  // a second
  r.step_ms = 1e3 / steps;
  r.gflops = timer.trainer().plan().flops() * steps * r.arguments.all_learners() / 1e9;
  return r;
}

// Where a step's time goes, on one thread.
void print_profile(const BenchOptions& o, const Session& session, int64_t batch) {
  CompileOptions compile_options;
  compile_options.threads = o.training.threads;
  const Graph& graph = session.training.graph;
  const auto plan =
      compile(graph, with_computed_sizes(graph, session.batch(batch), batch), cpu::kernel_set(), compile_options);
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

// The most that the learners of any row use.
int used_threads(const BenchOptions& o) {
  int most = 1;
  for (const std::string& learners : o.learners)
    most = std::max(most,
                    learners == "auto" ? core_count() : std::stoi(learners) * o.training.devices * o.training.threads);
  return std::min(most, core_count());
}

int run_bench(const BenchOptions& o) {
  const Session session = open_session(o.model, {});
  if (o.profile) {
    for (int64_t batch : o.batches) print_profile(o, session, batch);
    return 0;
  }
  const int threads = used_threads(o);
  const double peak = measured_peak_gflops(threads);
  nlohmann::json results = nlohmann::json::array();
  Table table({">batch", ">learners", ">threads", ">images/s", ">ms/step", ">GFLOP/s", ">of peak"});
  std::string notes;
  for (const std::string& learners : o.learners)
    for (int64_t batch : o.batches) {
      const Result r = measure(o, session, batch, learners);
      const TrainingArguments& a = r.arguments;
      table.add({std::to_string(batch), std::to_string(a.learners), std::to_string(a.threads),
                 with_thousands(static_cast<int64_t>(r.images_per_second)), fmt::format("{:.3f}", r.step_ms),
                 fmt::format("{:.1f}", r.gflops), fmt::format("{:.0f} %", 100 * r.gflops / peak)});
      results.push_back({{"batch", batch},
                         {"learners", a.learners},
                         {"threads_per_learner", a.threads},
                         {"sync", a.synchroniser.sync},
                         {"images_per_second", r.images_per_second},
                         {"step_ms", r.step_ms},
                         {"gflops", r.gflops},
                         {"share_of_peak", r.gflops / peak}});
      if (r.tuning.decisions.empty()) continue;
      results.back()["tuner"] = to_json(r.tuning);
      notes += fmt::format("batch {}, tuner: {}\n", batch, describe_tuning(r.tuning));
    }
  if (o.json)
    fmt::print("{}\n", nlohmann::json{{"model", o.model.path}, {"peak_gflops", peak}, {"results", results}}.dump(1));
  else
    fmt::print("{}; measured peak of {} thread{}: {:.0f} GFLOP/s\n{}{}", machine_text(), threads,
               threads == 1 ? "" : "s", peak, notes, table.text());
  return 0;
}

}  // namespace

Run add_bench(CLI::App& app) {
  auto o = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "images a second of training, with resident data");
  add_model_argument(*command, o->model);
  command->add_option("--batch", o->batches, "examples a learner takes in a step")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--learners", o->learners,
                   "numbers of learners; auto: those that `train` would choose for a long run")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(learner_count())
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
      "Examples:\n  arbalest bench lenet.onnx --batch 2,16,64 --learners 1,2,auto --sync sma\n"
      "  arbalest bench resnet.onnx --batch 16 --profile");
  return [o] { return run_bench(*o); };
}

}  // namespace arbalest::tools
