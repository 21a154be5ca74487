// How many learners a device gets, and with how many threads each: measures, adds learners while that pays, takes away
// those that did not, settles.
//
// It measures before training begins, on trainers that are thrown away, and not by growing the learners of the run
// itself: the run is then the one that the explicit numbers give, bit for bit; no checkpoint carries the history of its
// learners; no iteration is spent on a number that is not wanted. Here are only the decisions: `measure` has the clock
// and the trainers, and the same measurements give the same decisions.
//
// The search. A learner alone is measured with 1, 2, 4, ... threads and with all cores, half of them, a third and a
// quarter, until more threads are clearly slower. Then, for each of these numbers of threads, learners are added:
// doubled while that pays, and once it did not, by halving what lies between; then taken away again as far as that
// costs nothing. A number of threads is skipped where so many learners as there is room for could not be faster than
// the fastest yet, even if they did not disturb each other. Of all that was measured the one with the fewest learners
// is chosen that is not slower than the fastest by more than the threshold: more learners are more examples an
// iteration, which the training has to make good.
//
// A rate is the median of windows, with the interval that holds the true median at 95 % whatever the distribution: a
// window in which another process ran widens it, and does not move it. Where a decision could lose more than `risk` by
// the intervals, both sides are measured again, in turns.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace arbalest {

struct Configuration {
  int learners = 1;  // on each device
  int threads = 1;   // of each learner
  friend auto operator<=>(const Configuration&, const Configuration&) = default;
};

struct Measurement {
  std::vector<double> rates;  // examples a second in each window; empty: it failed
  double seconds = 0;         // that measuring took in all
  size_t learner_bytes = 0;   // planned memory of a learner
  size_t device_bytes = 0;    // that a device with several learners keeps beside theirs
};
// Measures so many windows, after a warm-up that does not count.
using Measure = std::function<Measurement(Configuration configuration, int windows)>;

struct RateInterval {
  double median = 0, low = 0, high = 0;
  int windows = 0;
};
RateInterval rate_interval(std::vector<double> rates);

struct TunerOptions {
  int cores = 1;                                                  // of a device; learners x threads stay within them
  int threads = 0;                                                // of each learner; 0: to be found
  int most_learners = 1024;                                       // on a device, whatever the cores
  size_t memory = std::numeric_limits<size_t>::max();             // of a device; checked before learners are made
  double run_examples = std::numeric_limits<double>::infinity();  // of the run that is to come
  double shortest_run = 10;                                       // seconds with one learner; a shorter run keeps that
  double share = 0.05;      // of the run's time: no measurement begins after so much
  double threshold = 0.02;  // gain that pays
  double risk = 0.04;       // loss that a decision may bring, by the intervals
};

enum class Verdict : uint8_t {
  started,    // the first
  kept,       // paid
  removed,    // did not pay
  skipped,    // cannot pay
  no_memory,  // would not fit
  failed,     // could not be measured
  short_run,  // the run is too short to measure more
  no_time,    // the share of the run's time is used up
  settled     // the last
};
const char* name_of(Verdict verdict);

struct Decision {
  Verdict verdict = Verdict::settled;
  Configuration configuration;
  RateInterval rate;   // windows 0: not measured
  double gain = 0;     // over what it was compared with, 0.5: half as fast again; skipped: the most there could be
  double seconds = 0;  // spent so far
  size_t learner_bytes = 0;  // planned
  size_t device_bytes = 0;
};

struct Tuning {
  Configuration chosen;
  std::vector<Decision> decisions;  // empty: there was nothing to choose
  int most_learners = 0;            // on a device, where something but its cores and memory allows no more: ...
  std::string limit;                // ... why; empty: nothing does
  double seconds = 0;
};

Tuning tune(const TunerOptions& options, const Measure& measure);

}  // namespace arbalest
