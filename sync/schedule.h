// The learning rate as a function of the examples seen, in epochs: the same for any batch and number of learners.
//
// With r the base rate, e the epochs seen and E those of the whole training, after `warmup` epochs in which the rate
// rises linearly from warmup_start r (Goyal et al. 2017, section 2.2):
//   constant     r
//   step         r gamma^floor(e / step)                      torch.optim.lr_scheduler.StepLR
//   multi-step   r gamma^(milestones passed)                  MultiStepLR
//   exponential  r gamma^e                                    ExponentialLR, continuous
//   cosine       least + (r - least) (1 + cos(pi e' / E')) / 2, e' and E' after the warm-up    (SGDR, without restarts)
//   linear       r + (least - r) e' / E'
//   one-cycle    OneCycleLR with cosine annealing, momentum left alone: from r / 25 up to r at 30 % of the training,
//                then down to r / 25e4
//   plateau      r gamma^(times the loss stopped falling)     ReduceLROnPlateau with relative threshold 1e-4
// `least` is floor times r.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace arbalest {

enum class ScheduleKind : uint8_t { constant, step, multi_step, exponential, cosine, linear, one_cycle, plateau };

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::constant;
  double gamma = 0.1;
  double step = 10;                // epochs, at least a thousandth of one
  std::vector<double> milestones;  // epochs, ascending
  double warmup = 0;               // epochs
  double warmup_start = 0.1;
  double floor = 0;
  int patience = 2;  // evaluations without progress before plateau lowers the rate
};

class Schedule {
 public:
  // `epochs`: of the whole training. Usage error for options out of range.
  Schedule(const ScheduleOptions& options, double rate, double epochs);

  // The rate for the step that starts after `epochs_seen`. Safe to call from several threads.
  double rate_at(double epochs_seen) const;
  // The epochs, ascending, at which the rate falls by a step, also where the warm-up ends on a lower rate than it rose
  // to: where averaging algorithms restart.
  std::vector<double> steps() const;
  // plateau: the loss of an evaluation; true when the rate falls from here on. Only while nothing trains.
  bool observe(double loss);

  // What observe() has changed, for a checkpoint.
  struct State {
    double factor = 1;
    double best = 0;
    int waited = 0;
    bool observed = false;
  };
  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  ScheduleOptions options_;
  double rate_, epochs_;
  State state_;
};

std::vector<std::string> schedule_names();  // in the order of ScheduleKind
ScheduleKind schedule_by_name(const std::string& name);

}  // namespace arbalest
