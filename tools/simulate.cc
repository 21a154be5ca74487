// arbalest simulate: what training would take on several devices that are not here.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/segments.h"
#include "tools/command.h"
#include "tools/machine.h"
#include "tools/simulation_costs.h"
#include "tools/table.h"

namespace arbalest::tools {
namespace {

struct SimulateOptions {
  ModelArguments model;
  TrainingArguments training;
  std::vector<int> learners{1};
  CostArguments costs;
  double slots = 0;  // 0: as here
  int64_t iterations = 200;
  bool synchronising_stream = false, json = false;
  std::string trace;
};

struct Outcome {
  int learners = 0;
  double images_per_second = 0, iteration = 0;
  double learning = 0, synchronising = 0, waiting = 0;  // shares of the learners' time
  std::optional<double> overlapped;                     // share of the all-reduces during which their device learns
  std::optional<double> measured;                       // seconds of an iteration here
};

// Seconds of [begin, end) in which one of these spans, sorted by their begin, runs.
double covered(double begin, double end, const std::vector<std::pair<double, double>>& spans) {
  double seconds = 0, until = begin;
  for (const auto& [b, e] : spans) {
    const double from = std::max(b, until);
    if (from >= end) break;
    if (e <= from) continue;
    until = std::min(e, end);
    seconds += until - from;
  }
  return seconds;
}

Outcome outcome_of(const SimulateOptions& o, const std::vector<SimulatedTask>& tasks,
                   const std::map<std::string, int>& device_of, int learners) {
  Outcome out;
  out.learners = learners;
  const int all = learners * o.training.devices;
  const double makespan = tasks.back().end;
  out.iteration = makespan / static_cast<double>(o.iterations);
  out.images_per_second = static_cast<double>(all * o.training.batch) / out.iteration;
  std::map<int, std::vector<std::pair<double, double>>> learning;
  double learn = 0, other = 0, reduced = 0, hidden = 0;
  for (const SimulatedTask& task : tasks) {
    const bool learns = category_of(task.work) == kLearn;
    if (learns) learning[device_of.at(task.stream)].emplace_back(task.begin, task.end);
    const bool of_learner = task.stream.find("learner") != std::string::npos;
    if (of_learner) (learns ? learn : other) += task.end - task.begin;
  }
  for (auto& [device, spans] : learning) std::sort(spans.begin(), spans.end());
  for (const SimulatedTask& task : tasks) {
    if (category_of(task.work) != kAllReduce) continue;
    reduced += task.end - task.begin;
    hidden += covered(task.begin, task.end, learning[device_of.at(task.stream)]);
  }
  out.learning = learn / (makespan * all);
  out.synchronising = other / (makespan * all);
  out.waiting = std::max(0.0, 1 - out.learning - out.synchronising);
  if (reduced > 0) out.overlapped = hidden / reduced;
  return out;
}

void write_trace(const std::string& path, const std::vector<SimulatedTask>& tasks) {
  Trace trace;
  const Trace::Clock::time_point zero = Trace::Clock::now();
  const auto at = [&](double seconds) {
    return zero + std::chrono::duration_cast<Trace::Clock::duration>(std::chrono::duration<double>(seconds));
  };
  for (const SimulatedTask& task : tasks)
    trace.row(task.stream).add(trace.keep(task.work), task.iteration, at(task.begin), at(task.end));
  trace.write(path);
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

void print(const SimulateOptions& o, const std::vector<Outcome>& outcomes) {
  Table table({">devices", ">learners each", ">images/s", ">ms/iteration", ">here", ">learning", ">synchronising",
               ">waiting", ">all-reduce hidden"});
  for (const Outcome& r : outcomes)
    table.add({std::to_string(o.training.devices), std::to_string(r.learners),
               with_thousands(static_cast<int64_t>(r.images_per_second)), fmt::format("{:.3f}", 1e3 * r.iteration),
               r.measured ? fmt::format("{:.3f}", 1e3 * *r.measured) : "", percent(r.learning),
               percent(r.synchronising), percent(r.waiting), r.overlapped ? percent(*r.overlapped) : ""});
  fmt::print("{}", table.text());
}

nlohmann::json to_json(const SimulateOptions& o, const std::vector<Outcome>& outcomes) {
  nlohmann::json results = nlohmann::json::array();
  for (const Outcome& r : outcomes) {
    results.push_back({{"devices", o.training.devices},
                       {"learners", r.learners},
                       {"batch", o.training.batch},
                       {"images_per_second", r.images_per_second},
                       {"iteration_ms", 1e3 * r.iteration},
                       {"learning", r.learning},
                       {"synchronising", r.synchronising},
                       {"waiting", r.waiting}});
    if (r.overlapped) results.back()["all_reduce_hidden"] = *r.overlapped;
    if (r.measured) results.back()["measured_iteration_ms"] = 1e3 * *r.measured;
  }
  return {{"model", o.model.path}, {"results", results}};
}

int run_simulate(const SimulateOptions& o) {
  const Session session = open_session(o.model, {});
  session.require_parameters();
  CompileOptions compile_options;
  compile_options.threads = o.training.threads;
  const Graph& graph = session.training.graph;
  const int64_t batch = o.training.batch;
  const auto plan =
      compile(graph, with_computed_sizes(graph, session.batch(batch), batch), cpu::kernel_set(), compile_options);
  CostModel costs(o.costs, o.training.devices, plan->parameters()->bytes());
  const int fitting = std::max(1, core_count() / o.training.threads);  // learners that can be measured here
  std::vector<Outcome> outcomes;
  std::set<std::string> names;
  for (const int learners : o.learners) {
    std::optional<Measured> here;
    if (costs.needs_measurement()) {
      here = measure_here(o.training, session, std::min(learners, fitting));
      costs.use(*here);
    }
    TrainingArguments arguments = o.training;
    arguments.learners = learners;
    HollowLearners hollow(trainer_options(arguments), o.synchronising_stream);
    std::map<std::string, double> arrays;
    for (const Task& task : hollow.tasks().tasks()) {
      arrays[task.name] = hollow.arrays_of(task.name);
      names.insert(category_of(task.name));
    }
    const double slots = o.slots > 0 ? o.slots : here ? fitting : learners;
    const std::vector<SimulatedTask> tasks = simulate(
        hollow.record(o.iterations), {hollow.device_of(), slots},
        [&](const std::string& work, int64_t iteration) { return costs.cost(work, iteration, arrays.at(work)); });
    outcomes.push_back(outcome_of(o, tasks, hollow.device_of(), learners));
    if (here && here->learners == learners && o.training.devices == 1 && o.costs.times.empty())
      outcomes.back().measured = here->iteration;
    if (!o.trace.empty() && learners == o.learners.back()) write_trace(o.trace, tasks);
  }
  costs.check_times(names);
  if (o.json) {
    fmt::print("{}\n", to_json(o, outcomes).dump(1));
  } else {
    print(o, outcomes);
  }
  return 0;
}

}  // namespace

Run add_simulate(CLI::App& app) {
  auto o = std::make_shared<SimulateOptions>();
  CLI::App* command = app.add_subcommand("simulate", "what training would take on devices that are not here");
  add_model_argument(*command, o->model);
  command->add_option("--batch", o->training.batch, "examples a learner takes in a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--learners", o->learners, "numbers of learners on each device")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_learner_options(*command, o->training);
  add_loss_options(*command, o->model);
  command
      ->add_option("--time", o->costs.times,
                   "TASK=MILLISECONDS of a task (learn, update, average, ...: `inspect --tasks` lists them); may be\n"
                   "repeated. What is not given is measured here, with as many learners as there are cores")
      ->allow_extra_args(false);
  command
      ->add_option("--memory-bandwidth", o->costs.memory_bandwidth,
                   "GB/s of each device: tasks without --time take as long as their memory takes to move, and\n"
                   "nothing is measured here")
      ->check(CLI::PositiveNumber);
  command->add_option("--link", o->costs.link,
                      "GB/s or GB/s,MICROSECONDS between devices, for a ring all-reduce (default: they share memory)");
  command->add_option("--slots", o->slots, "learners that a device runs at full speed (default: as many as fit here)")
      ->check(CLI::Range(1.0, 1e6));
  command->add_flag("--synchronising-stream", o->synchronising_stream,
                    "each device synchronises on a stream of its own, as a GPU does");
  command->add_option("--iterations", o->iterations, "how many")->check(CLI::Range(1, 100000))->capture_default_str();
  command->add_option("--trace", o->trace, "write what would run when, for ui.perfetto.dev");
  command->add_flag("--json", o->json, "print JSON");
  command->footer(
      "Examples:\n  arbalest simulate resnet50.onnx --batch 16 --devices 8 --learners 1,2,4 --link 25,5 "
      "--synchronising-stream \\\n      --time learn=6.2 --memory-bandwidth 2000\n"
      "  arbalest simulate lenet.onnx --learners 1,2 --sync sma    # beside what this machine takes");
  return [o] { return run_simulate(*o); };
}

}  // namespace arbalest::tools
