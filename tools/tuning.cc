#include "tools/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>

#include "tools/machine.h"
#include "tools/progress.h"
#include "tools/step_timer.h"
#include "tools/table.h"

namespace arbalest::tools {
namespace {

constexpr double kWindowSeconds = 0.15;  // long enough for the stalls of a team of threads to count
constexpr size_t kShown = 4;             // configurations on the terminal
constexpr int kModels = 3;  // kept in any run: the mean that is evaluated, a running average, the best one so far

struct LearnerLimit {
  int most = 1;
  std::string why;  // empty: the cores, or what the option itself says
};

// Where only the first learner's model counts, others are a waste; an alpha that is given may be stable for few.
LearnerLimit learner_limit(TrainingArguments a, int cores, int64_t most_examples) {
  LearnerLimit limit;
  a.learners = 1;
  describe_training(a);  // throws what is wrong with one learner already
  if (a.synchroniser.sync == "none") return limit;
  for (; limit.most < cores; ++limit.most) {
    a.learners = limit.most + 1;
    if (a.step_examples() > most_examples) break;
    try {
      describe_training(a);
    } catch (const Error& e) {
      limit.why = e.what();
      break;
    }
  }
  return limit;
}

// What a device keeps beside its learners' own memory once there are several.
int arrays_of_device(TrainingArguments a) {
  a.learners = 2;
  a.devices = std::min(a.devices, 2);  // more make no difference
  return synchroniser_arrays(trainer_options(a)) + kModels;
}

// One trainer at a time: threads that wait for another one's work would take part in the OpenMP runtime's accounts.
class CandidateTimer {
 public:
  CandidateTimer(const Session& session, const TrainingArguments& arguments, const MakeLoad& make_load)
      : session_(session),
        arguments_(arguments),
        make_load_(make_load),
        device_arrays_(static_cast<size_t>(arrays_of_device(arguments))) {}

  Measurement measure(Configuration c, int windows) {
    line_.show(fmt::format("tuner: measures {}", learners_text(c.learners, c.threads)));
    const auto begin = std::chrono::steady_clock::now();
    Measurement m;
    try {
      if (!timer_ || now_ != c) prepare(c);
      m.rates = timer_->rates(windows, kWindowSeconds);
      m.learner_bytes = timer_->trainer().learner_bytes();
      m.device_bytes = device_arrays_ * timer_->trainer().plan().parameters()->bytes();
    } catch (const Error& e) {
      timer_.reset();
      // What is wrong with the model or its numbers, the training itself will say, with what it has by then.
      if (e.kind() != ErrorKind::model && e.kind() != ErrorKind::device) throw;
    }
    m.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    line_.clear();
    return m;
  }

 private:
  void prepare(Configuration c) {
    timer_.reset();
    arguments_.learners = c.learners;
    arguments_.threads = c.threads;
    timer_ = std::make_unique<StepTimer>(session_, arguments_, make_load_(arguments_));
    now_ = c;
  }

  const Session& session_;
  TrainingArguments arguments_;
  const MakeLoad& make_load_;
  const size_t device_arrays_;
  std::unique_ptr<StepTimer> timer_;
  Configuration now_;
  LiveLine line_;
};

std::string describe_choice(const Tuning& tuning) {
  std::map<Configuration, double> rates;
  for (const Decision& d : tuning.decisions) {
    if (d.verdict == Verdict::short_run) return "a short run: one learner, without measuring others";
    if (d.rate.windows > 0) rates[d.configuration] = d.rate.median;
  }
  std::vector<std::pair<Configuration, double>> shown(rates.begin(), rates.end());
  std::stable_sort(shown.begin(), shown.end(), [&](const auto& x, const auto& y) {
    if ((x.first == tuning.chosen) != (y.first == tuning.chosen)) return x.first == tuning.chosen;
    return x.second > y.second;
  });
  std::string text;
  for (size_t i = 0; i < std::min(kShown, shown.size()); ++i)
    text += fmt::format("{}{} x {}: {}{}", i ? ", " : "", shown[i].first.learners, shown[i].first.threads,
                        with_thousands(std::llround(shown[i].second)), i ? "" : " images/s");
  return fmt::format("{} (learners x threads); took {}", text, duration(tuning.seconds));
}

}  // namespace

Tuning tune_learners(const Session& session, TrainingArguments& a, const TuningLimits& limits,
                     const MakeLoad& make_load) {
  TunerOptions options;
  options.cores = std::max(1, core_count() / a.devices);
  options.threads = a.threads_given ? a.threads : 0;
  const LearnerLimit limit = learner_limit(a, options.cores / std::max(1, options.threads), limits.most_examples);
  options.most_learners = limit.most;
  options.memory = available_memory() / 10 * 9 / static_cast<size_t>(a.devices);  // a tenth for all else
  options.run_examples = limits.run_examples;
  CandidateTimer timer(session, a, make_load);
  Tuning tuning = tune(options, [&timer](Configuration c, int windows) { return timer.measure(c, windows); });
  tuning.most_learners = limit.most;
  tuning.limit = limit.why;
  a.learners = tuning.chosen.learners;
  a.threads = tuning.chosen.threads;
  return tuning;
}

std::vector<nlohmann::json> to_json(const Tuning& tuning) {
  std::vector<nlohmann::json> events;
  if (!tuning.limit.empty())
    events.push_back(
        {{"event", "tuner"}, {"decision", "limit"}, {"learners", tuning.most_learners}, {"why", tuning.limit}});
  for (const Decision& d : tuning.decisions) {
    nlohmann::json event = {{"event", "tuner"},
                            {"decision", name_of(d.verdict)},
                            {"learners", d.configuration.learners},
                            {"threads_per_learner", d.configuration.threads},
                            {"gain", d.gain},
                            {"learner_bytes", d.learner_bytes},
                            {"device_bytes", d.device_bytes},
                            {"seconds", d.seconds}};
    if (d.rate.windows > 0) {
      event["images_per_second"] = d.rate.median;
      event["interval"] = {d.rate.low, d.rate.high};
      event["windows"] = d.rate.windows;
    }
    events.push_back(std::move(event));
  }
  return events;
}

std::string describe_tuning(const Tuning& tuning) {
  const std::string limit =
      tuning.limit.empty() ? "" : fmt::format("no more than {}: {}", tuning.most_learners, tuning.limit);
  if (tuning.decisions.empty()) return limit;
  const std::string text = describe_choice(tuning);
  return limit.empty() ? text : text + "; " + limit;
}

}  // namespace arbalest::tools
