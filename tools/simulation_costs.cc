#include "tools/simulation_costs.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tools/key_value.h"
#include "tools/random_feeds.h"
#include "tools/step_timer.h"

namespace arbalest::tools {
namespace {

constexpr int64_t kFirst = 4;  // iterations that touch their memory for the first time

std::optional<Link> link_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::vector<std::string> parts = CLI::detail::split(text, ',');
  if (parts.size() > 2) throw Error(ErrorKind::usage, "--link '{}': takes GB/s or GB/s,MICROSECONDS", text);
  const Link link{number_at_least_0(parts[0], "--link") * 1e9,
                  parts.size() > 1 ? number_at_least_0(parts[1], "--link") * 1e-6 : 0};
  if (link.bytes_a_second <= 0) throw Error(ErrorKind::usage, "--link '{}': must be faster than 0 GB/s", text);
  return link;
}

std::map<std::string, double> given_times(const std::vector<std::string>& texts) {
  std::map<std::string, double> seconds;
  for (const std::string& text : texts) {
    const auto [task, milliseconds] = key_and_number(text, "--time", "TASK=MILLISECONDS, for example 'learn=2.5'");
    seconds[task] = milliseconds * 1e-3;
  }
  return seconds;
}

}  // namespace

Measured measure_here(const TrainingArguments& training, const Session& session, int learners) {
  TrainingArguments arguments = training;
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

CostModel::CostModel(const CostArguments& arguments, int devices, size_t array_bytes)
    : devices_(devices),
      bytes_(static_cast<double>(array_bytes)),
      given_(given_times(arguments.times)),
      link_(link_of(arguments.link)),
      bytes_a_second_(arguments.memory_bandwidth * 1e9) {
  if (bytes_a_second_ > 0 && !given_.count(kLearn))
    throw Error(ErrorKind::usage, "--memory-bandwidth: needs --time learn=MILLISECONDS too; nothing is measured then");
}

void CostModel::check_times(const std::set<std::string>& tasks) const {
  for (const auto& [task, unused] : given_)
    if (!tasks.contains(task))
      throw Error(ErrorKind::usage, "--time {}: there is no such task; these are {}", task, fmt::join(tasks, ", "));
}

TaskCost CostModel::cost(const std::string& work, int64_t iteration, double arrays) const {
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

// A learner's durations as they came, so that the chance of a slow one, for which others wait, is the real one.
double CostModel::played_back(const std::vector<double>& seconds, const std::string& work, int64_t iteration) const {
  const size_t learners = static_cast<size_t>(measured_.learners),
               each = std::max<size_t>(1, seconds.size() / learners);
  const std::string number = work.substr(category_of(work).size());
  const size_t learner = number.empty() ? 0 : std::stoul(number) % learners;
  const size_t begin = each > static_cast<size_t>(kFirst) ? static_cast<size_t>(kFirst) : 0;
  return seconds.at(learner * each + begin + static_cast<size_t>(iteration) % (each - begin));
}

double CostModel::bandwidth() const {
  if (bytes_a_second_ > 0) return bytes_a_second_;
  std::vector<double> seconds = measured_.seconds.at("update");
  std::nth_element(seconds.begin(), seconds.begin() + std::ssize(seconds) / 2, seconds.end());
  return measured_.arrays.at("update") * bytes_ / seconds[seconds.size() / 2];
}

}  // namespace arbalest::tools
