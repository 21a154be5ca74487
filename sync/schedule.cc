#include "sync/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/base/error.h"

namespace arbalest {
namespace {

constexpr const char* kScheduleNames[] = {"constant", "step",   "multi-step", "exponential",
                                          "cosine",   "linear", "one-cycle",  "plateau"};

double cosine_between(double from, double to, double part) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * part)) / 2;
}

double one_cycle(double rate, double part) {
  constexpr double kRise = 0.3;
  const double first = rate / 25, last = first / 1e4;
  return part < kRise ? cosine_between(first, rate, part / kRise)
                      : cosine_between(rate, last, (part - kRise) / (1 - kRise));
}

constexpr double kEpsilon = 1e-9;  // of an epoch: parts of it add up with rounding errors

}  // namespace

std::vector<std::string> schedule_names() { return {std::begin(kScheduleNames), std::end(kScheduleNames)}; }

ScheduleKind schedule_by_name(const std::string& name) {
  const auto at = std::find(std::begin(kScheduleNames), std::end(kScheduleNames), name);
  if (at == std::end(kScheduleNames)) throw Error(ErrorKind::usage, "schedule '{}' is not known", name);
  return static_cast<ScheduleKind>(at - std::begin(kScheduleNames));
}

Schedule::Schedule(const ScheduleOptions& options, double rate, double epochs)
    : options_(options), rate_(rate), epochs_(epochs) {
  const auto check = [](const char* name, double value, bool good, const char* range) {
    if (!good) throw Error(ErrorKind::usage, "learning-rate schedule: {} {}: must be {}", name, value, range);
  };
  check("gamma", options.gamma, options.gamma > 0 && options.gamma <= 1, "above 0 and at most 1");
  check("step", options.step, options.step >= 1e-3, "at least 0.001 epochs");
  check("warm-up", options.warmup, options.warmup >= 0, "at least 0 epochs");
  check("warm-up start", options.warmup_start, options.warmup_start >= 0 && options.warmup_start <= 1, "from 0 to 1");
  check("floor", options.floor, options.floor >= 0 && options.floor <= 1, "from 0 to 1");
  check("patience", options.patience, options.patience >= 1, "at least 1");
  if (options.kind == ScheduleKind::multi_step && options.milestones.empty())
    throw Error(ErrorKind::usage, "learning-rate schedule: multi-step needs its milestones");
  if (!std::is_sorted(options.milestones.begin(), options.milestones.end()))
    throw Error(ErrorKind::usage, "learning-rate schedule: milestones must increase");
}

double Schedule::rate_at(double e) const {
  const ScheduleOptions& o = options_;
  if (e < o.warmup) return rate_ * (o.warmup_start + (1 - o.warmup_start) * e / o.warmup);
  const double part = epochs_ > o.warmup ? std::min(1.0, (e - o.warmup) / (epochs_ - o.warmup)) : 1;
  switch (o.kind) {
    case ScheduleKind::constant:
      return rate_;
    case ScheduleKind::step:
      return rate_ * std::pow(o.gamma, std::floor((e + kEpsilon) / o.step));
    case ScheduleKind::multi_step:
      return rate_ * std::pow(o.gamma, std::upper_bound(o.milestones.begin(), o.milestones.end(), e + kEpsilon) -
                                           o.milestones.begin());
    case ScheduleKind::exponential:
      return rate_ * std::pow(o.gamma, e);
    case ScheduleKind::cosine:
      return cosine_between(rate_, o.floor * rate_, part);
    case ScheduleKind::linear:
      return rate_ + (o.floor - 1) * rate_ * part;
    case ScheduleKind::one_cycle:
      return one_cycle(rate_, part);
    case ScheduleKind::plateau:
      return rate_ * std::max(state_.factor, o.floor);
  }
  return rate_;
}

std::vector<double> Schedule::steps() const {
  std::vector<double> falls;
  if (options_.kind == ScheduleKind::multi_step) falls = options_.milestones;
  if (options_.kind == ScheduleKind::step)
    for (double i = 1; i * options_.step < epochs_; ++i) falls.push_back(i * options_.step);
  const auto after = std::find_if(falls.begin(), falls.end(), [this](double e) { return e >= options_.warmup; });
  if (after != falls.begin()) {
    falls.erase(falls.begin(), after);
    if (falls.empty() || falls.front() > options_.warmup) falls.insert(falls.begin(), options_.warmup);
  }
  return falls;
}

bool Schedule::observe(double loss) {
  if (options_.kind != ScheduleKind::plateau) return false;
  if (std::isfinite(loss) && (!state_.observed || loss < state_.best * (1 - 1e-4))) {
    state_.observed = true;
    state_.best = loss;
    state_.waited = 0;
    return false;
  }
  if (++state_.waited <= options_.patience) return false;
  state_.waited = 0;
  const double before = std::max(state_.factor, options_.floor);
  state_.factor *= options_.gamma;
  return std::max(state_.factor, options_.floor) < before;
}

}  // namespace arbalest
