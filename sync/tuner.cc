#include "sync/tuner.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace arbalest {
namespace {

constexpr int kWindows = 6;       // the fewest with an interval of 95 %
constexpr int kMostWindows = 36;  // of a configuration

std::vector<int> thread_counts(const TunerOptions& o) {
  if (o.threads > 0) return {o.threads};
  std::vector<int> counts;
  for (int learners = 1; learners <= 4; ++learners) counts.push_back(std::max(1, o.cores / learners));
  for (int threads = 1; threads < o.cores; threads *= 2) counts.push_back(threads);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

class TunerSearch {
 public:
  TunerSearch(const TunerOptions& options, const Measure& measure) : o_(options), measure_(measure) {}

  Tuning run() {
    std::vector<int> teams = thread_counts(o_);
    const Configuration first{1, teams[0]};
    result_.chosen = first;
    if (teams.size() == 1 && most_learners(teams[0]) == 1) return result_;
    if (!measure(first, 1)) return settle(first);
    const double run_seconds = o_.run_examples / rate(first).median;
    if (run_seconds < o_.shortest_run) {
      decide(Verdict::short_run, first);
      return settle(first);
    }
    budget_ = o_.share * run_seconds;
    measure(first, kWindows - 1);
    decide(Verdict::started, first);
    teams.resize(measure_teams(teams));
    // The most promising first, the others can then be skipped.
    std::stable_sort(teams.begin(), teams.end(), [this](int a, int b) { return bound(a) > bound(b); });
    for (const int threads : teams) add_learners(threads);
    return settle(choose());
  }

 private:
  int most_learners(int threads) const { return std::max(1, std::min(o_.most_learners, o_.cores / threads)); }
  RateInterval rate(Configuration c) const { return rate_interval(rates_.at(c)); }
  // Of as many learners as there is room for, if they do not disturb each other.
  double bound(int threads) const { return most_learners(threads) * rate({1, threads}).median; }
  double gain(Configuration few, Configuration many) const { return rate(many).median / rate(few).median - 1; }

  Configuration fastest() const {
    Configuration best = rates_.begin()->first;
    for (const auto& [c, rates] : rates_)
      if (gain(best, c) > 0) best = c;
    return best;
  }

  void decide(Verdict verdict, Configuration c, double gain = 0) {
    const bool measured = rates_.contains(c);
    result_.decisions.push_back(
        {verdict, c, measured ? rate(c) : RateInterval{}, gain, result_.seconds, learner_bytes_, device_bytes_});
  }

  Tuning settle(Configuration c) {
    result_.chosen = c;
    decide(Verdict::settled, c);
    return result_;
  }

  bool out_of_time() const { return result_.seconds >= budget_; }

  bool fits(int learners) const {
    if (learner_bytes_ == 0) return true;  // not known
    const size_t own = learners > 1 ? device_bytes_ : 0;
    return own <= o_.memory && static_cast<size_t>(learners) <= (o_.memory - own) / learner_bytes_;
  }

  bool measure(Configuration c, int windows) {
    if (out_of_time()) {
      decide(Verdict::no_time, c);
      return false;
    }
    if (!fits(c.learners)) {
      decide(Verdict::no_memory, c);
      return false;
    }
    const Measurement m = measure_(c, windows);
    result_.seconds += m.seconds;
    learner_bytes_ = std::max(learner_bytes_, m.learner_bytes);
    device_bytes_ = std::max(device_bytes_, m.device_bytes);
    if (m.rates.empty()) {
      decide(Verdict::failed, c);
      return false;
    }
    std::vector<double>& rates = rates_[c];
    rates.insert(rates.end(), m.rates.begin(), m.rates.end());
    return true;
  }

  bool measure_again(Configuration few, Configuration many) {
    const auto full = [this](Configuration c) { return rates_.at(c).size() >= static_cast<size_t>(kMostWindows); };
    if (out_of_time() || (full(few) && full(many))) return false;
    return measure(few, kWindows) && measure(many, kWindows);
  }

  // Whether `many` is faster than `few` by more than the threshold.
  bool pays(Configuration few, Configuration many) {
    for (;;) {
      const RateInterval a = rate(few), b = rate(many);
      const bool yes = b.median > a.median * (1 + o_.threshold);
      const double loss = yes ? a.high / b.low - 1 : b.high / a.low - 1;  // should the answer be wrong
      if (loss <= o_.risk || !measure_again(few, many)) return yes;
    }
  }

  // One learner with more and more threads; how many of the numbers were measured.
  size_t measure_teams(const std::vector<int>& teams) {
    for (size_t i = 1; i < teams.size(); ++i) {
      const Configuration less{1, teams[i - 1]}, more{1, teams[i]};
      if (!measure(more, kWindows)) return i;
      const bool paid = pays(less, more);
      decide(paid ? Verdict::kept : Verdict::removed, more, gain(less, more));
      if (rate(more).high < rate(less).low) return i + 1;
    }
    return teams.size();
  }

  void add_learners(int threads) {
    const int most = most_learners(threads);
    int before = 1, paid = 1, end = most + 1;
    while (paid + 1 < end) {
      const double possible = (end - 1) * rate({paid, threads}).high / paid / rate(fastest()).low - 1;
      if (possible <= o_.threshold) {
        decide(Verdict::skipped, {end - 1, threads}, possible);
        break;
      }
      const int next = end > most ? std::min(2 * paid, most) : (paid + end) / 2;
      const Configuration few{paid, threads}, many{next, threads};
      const bool measured = measure(many, kWindows);
      if (!measured && out_of_time()) return;
      if (measured && pays(few, many)) {
        decide(Verdict::kept, many, gain(few, many));
        before = paid;
        paid = next;
      } else {
        if (measured) decide(Verdict::removed, many, gain(few, many));
        end = next;
      }
    }
    remove_learners(before, paid, threads);
  }

  // The fewest learners that are as fast as so many; `before` are not.
  void remove_learners(int before, int paid, int threads) {
    const Configuration all{paid, threads};
    if (gain(all, fastest()) > o_.threshold) return;
    // If they do not disturb each other.
    const double fewest = before * (1 + gain({before, threads}, all)) / (1 + o_.threshold);
    int low = std::max(before, static_cast<int>(std::ceil(fewest)) - 1);
    while (low + 1 < paid) {
      const Configuration fewer{(low + paid) / 2, threads};
      if (!measure(fewer, kWindows)) return;
      const bool suffices = !pays(fewer, all);
      decide(suffices ? Verdict::kept : Verdict::removed, fewer, gain(all, fewer));
      (suffices ? paid : low) = fewer.learners;
    }
  }

  // What is measured again on the way may be another one's win.
  Configuration choose() {
    for (;;) {
      const Configuration best = fastest();
      const auto chosen = std::find_if(rates_.begin(), rates_.end(),
                                       [&](const auto& c) { return c.first == best || !pays(c.first, best); });
      if (std::none_of(std::next(chosen), rates_.end(), [&](const auto& c) { return pays(chosen->first, c.first); }))
        return chosen->first;
    }
  }

  const TunerOptions& o_;
  const Measure& measure_;
  std::map<Configuration, std::vector<double>> rates_;  // fewest learners first
  size_t learner_bytes_ = 0, device_bytes_ = 0;
  double budget_ = std::numeric_limits<double>::infinity();
  Tuning result_;
};

}  // namespace

// Without the `rank` least and greatest of n values, the others enclose the median, unless no more than `rank` lie on
// one side of it: twice the chance of no more than `rank` heads in n throws.
RateInterval rate_interval(std::vector<double> rates) {
  if (rates.empty()) return {};
  std::sort(rates.begin(), rates.end());
  const size_t n = rates.size();
  double throws = 1;  // share of those with `rank` heads
  for (size_t i = 0; i < n; ++i) throws /= 2;
  double chance = throws;
  size_t rank = 0;
  while (2 * (rank + 1) < n) {
    throws *= static_cast<double>(n - rank) / static_cast<double>(rank + 1);
    chance += throws;
    if (2 * chance > 0.05) break;
    ++rank;
  }
  return {(rates[(n - 1) / 2] + rates[n / 2]) / 2, rates[rank], rates[n - 1 - rank], static_cast<int>(n)};
}

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::started:
      return "start";
    case Verdict::kept:
      return "keep";
    case Verdict::removed:
      return "remove";
    case Verdict::skipped:
      return "skip";
    case Verdict::no_memory:
      return "no memory";
    case Verdict::failed:
      return "failed";
    case Verdict::short_run:
      return "short run";
    case Verdict::no_time:
      return "no time";
    case Verdict::settled:
      return "settle";
  }
  return "";
}

Tuning tune(const TunerOptions& options, const Measure& measure) { return TunerSearch(options, measure).run(); }

}  // namespace arbalest
