// arbalest simulate: what training would take on several devices that are not here.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "graph/segments.h"
#include "sync/simulation.h"
#include "tools/command.h"
#include "tools/machine.h"
#include "tools/random_feeds.h"
#include "tools/session.h"
#include "tools/step_timer.h"
#include "tools/table.h"
#include "tools/training_options.h"

namespace arbalest::tools {
namespace {

constexpr const char* kLearn = "learn";
constexpr const char* kAllReduce = "all-reduce";
constexpr int64_t kFirst = 4;  // iterations that touch their memory for the first time

struct Link {
  double bytes_a_second = 0;
  double latency = 0;  // seconds of a message
};

struct SimulateOptions {
  ModelArguments model;
  TrainingArguments training;
  std::vector<int> learners{1};
  std::vector<std::string> times;
  std::string link;
  double memory_bandwidth = 0;  // GB/s; 0: measured
  double slots = 0;             // 0: as here
  int64_t iterations = 200;
  bool synchronising_stream = false, json = false;
  std::string trace;
};

double number(const std::string& text, const char* option) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value < 0)
    throw Error(ErrorKind::usage, "{}: '{}' is not a number", option, text);
  return value;
}

std::optional<Link> link_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::vector<std::string> parts = CLI::detail::split(text, ',');
  if (parts.size() > 2) throw Error(ErrorKind::usage, "--link '{}': takes GB/s or GB/s,MICROSECONDS", text);
  const Link link{number(parts[0], "--link") * 1e9, parts.size() > 1 ? number(parts[1], "--link") * 1e-6 : 0};
  if (link.bytes_a_second <= 0) throw Error(ErrorKind::usage, "--link '{}': must be faster than 0 GB/s", text);
  return link;
}

std::map<std::string, double> given_times(const std::vector<std::string>& texts) {
  std::map<std::string, double> seconds;
  for (const std::string& text : texts) {
    const size_t at = text.rfind('=');
    if (at == std::string::npos)
      throw Error(ErrorKind::usage, "--time '{}': takes TASK=MILLISECONDS, for example 'learn=2.5'", text);
    seconds[text.substr(0, at)] = number(text.substr(at + 1), "--time") * 1e-3;
  }
  return seconds;
}

// What tasks take on this machine.
struct Measured {
  int learners = 0;
  // Of the tasks by category, in their order, one learner after the other.
  std::map<std::string, std::vector<double>> seconds;
  std::map<std::string, double> arrays;  // that it moves
  double iteration = 0;                  // seconds
};

Measured measure_here(const SimulateOptions& o, const Session& session, int learners) {
  TrainingArguments arguments = o.training;
  arguments.devices = 1;
  arguments.learners = learners;
  Trace trace;
  StepTimer timer(session, arguments, resident_batches(session, learners), &trace);
  timer.time(kFirst);
  double total = 0;
  int64_t iterations = 0;
  for (int64_t count = 2 * kFirst; total < 0.6; count *= 2) {
    total += timer.time(count);
    iterations += count;
  }
  Measured m;
  m.learners = learners;
  m.iteration = total / static_cast<double>(iterations);
  m.seconds = trace.durations();
  const TaskGraph& tasks = timer.trainer().tasks();
  const size_t array_bytes = timer.trainer().plan().parameters()->bytes();
  for (const Task& task : tasks.tasks()) m.arrays[category_of(task.name)] = arrays_of(tasks, task.name, array_bytes);
  return m;
}

class CostModel {
 public:
  CostModel(const SimulateOptions& o, size_t array_bytes)
      : devices_(o.training.devices),
        bytes_(static_cast<double>(array_bytes)),
        given_(given_times(o.times)),
        link_(link_of(o.link)),
        bytes_a_second_(o.memory_bandwidth * 1e9) {
    if (bytes_a_second_ > 0 && !given_.count(kLearn))
      throw Error(ErrorKind::usage,
                  "--memory-bandwidth: needs --time learn=MILLISECONDS too; nothing is measured then");
  }

  bool needs_measurement() const { return bytes_a_second_ <= 0; }
  void use(Measured measured) { measured_ = std::move(measured); }

  // `arrays`: that the task moves.
  TaskCost cost(const std::string& work, int64_t iteration, double arrays) const {
    const std::string category = category_of(work);
    const auto given = given_.find(category);
    const TaskPlace place = category == kAllReduce && link_ ? TaskPlace::link : TaskPlace::device;
    if (given != given_.end()) return {given->second, place};
    if (place == TaskPlace::link) {  // a ring: each device sends and receives 2 (m - 1) parts of an m-th
      const double others = devices_ - 1, bytes = bytes_ * arrays / (devices_ + 1);
      return {2 * others * (bytes / devices_ / link_->bytes_a_second + link_->latency), place};
    }
    const auto measured = measured_.seconds.find(category);
    if (measured == measured_.seconds.end()) return {arrays * bytes_ / bandwidth(), place};
    const double scale = category == kLearn ? 1 : arrays / measured_.arrays.at(category);
    return {played_back(measured->second, work, iteration) * scale, place};
  }

 private:
  // A learner's durations as they came, so that the chance of a slow one, for which others wait, is the real one.
  double played_back(const std::vector<double>& seconds, const std::string& work, int64_t iteration) const {
    const size_t learners = static_cast<size_t>(measured_.learners),
                 each = std::max<size_t>(1, seconds.size() / learners);
    const std::string number = work.substr(category_of(work).size());
    const size_t learner = number.empty() ? 0 : std::stoul(number) % learners;
    const size_t begin = each > static_cast<size_t>(kFirst) ? static_cast<size_t>(kFirst) : 0;
    return seconds.at(learner * each + begin + static_cast<size_t>(iteration) % (each - begin));
  }

  double bandwidth() const {
    if (bytes_a_second_ > 0) return bytes_a_second_;
    std::vector<double> seconds = measured_.seconds.at("update");
    std::nth_element(seconds.begin(), seconds.begin() + std::ssize(seconds) / 2, seconds.end());
    return measured_.arrays.at("update") * bytes_ / seconds[seconds.size() / 2];
  }

  const double devices_, bytes_;
  const std::map<std::string, double> given_;
  const std::optional<Link> link_;
  const double bytes_a_second_;
  Measured measured_;
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
  CostModel costs(o, plan->parameters()->bytes());
  const int fitting = std::max(1, core_count() / o.training.threads);  // learners that can be measured here
  std::vector<Outcome> outcomes;
  for (const int learners : o.learners) {
    std::optional<Measured> here;
    if (costs.needs_measurement()) {
      here = measure_here(o, session, std::min(learners, fitting));
      costs.use(*here);
    }
    TrainingArguments arguments = o.training;
    arguments.learners = learners;
    HollowLearners hollow(trainer_options(arguments), o.synchronising_stream);
    std::map<std::string, double> arrays;
    for (const Task& task : hollow.tasks().tasks()) arrays[task.name] = hollow.arrays_of(task.name);
    const double slots = o.slots > 0 ? o.slots : here ? fitting : learners;
    const std::vector<SimulatedTask> tasks = simulate(
        hollow.record(o.iterations), {hollow.device_of(), slots},
        [&](const std::string& work, int64_t iteration) { return costs.cost(work, iteration, arrays.at(work)); });
    outcomes.push_back(outcome_of(o, tasks, hollow.device_of(), learners));
    if (here && here->learners == learners && o.training.devices == 1 && o.times.empty())
      outcomes.back().measured = here->iteration;
    if (!o.trace.empty() && learners == o.learners.back()) write_trace(o.trace, tasks);
  }
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
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_learner_options(*command, o->training);
  add_loss_options(*command, o->model);
  command->add_option(
      "--time", o->times,
      "TASK=MILLISECONDS of a task (learn, update, average, ...: `inspect --tasks` lists them); may be\n"
      "repeated. What is not given is measured here, with as many learners as there are cores");
  command
      ->add_option("--memory-bandwidth", o->memory_bandwidth,
                   "GB/s of each device: tasks without --time take as long as their memory takes to move, and\n"
                   "nothing is measured here")
      ->check(CLI::PositiveNumber);
  command->add_option("--link", o->link,
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
