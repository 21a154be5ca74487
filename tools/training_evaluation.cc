// When a training run evaluates, what it makes of that, and what ends it before all epochs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/interrupt.h"
#include "tools/training_run.h"

namespace arbalest::tools {
namespace {

bool better(double value, double than) { return std::isfinite(value) && (!std::isfinite(than) || value < than); }

}  // namespace

double TrainingRun::part_end(int64_t part) const {
  const Interval interval = evaluation_interval();
  return std::min(static_cast<double>(o_.epochs), interval.iterations > 0
                                                      ? epochs_after(part * interval.iterations)
                                                      : static_cast<double>(part) * interval.epochs);
}

// Of a run that this one goes on with. One that continues bit for bit may still have to evaluate where it begins.
bool TrainingRun::part_is_done(int64_t part) const {
  const int64_t last = iterations_until(part_end(part));
  const bool evaluated = !report_.records().empty() && last <= iterations_until(report_.records().back().epoch);
  return evaluated || last < iterations_ || (last == iterations_ && !continued_);
}

std::string TrainingRun::reason_to_stop() const {
  if (interrupted()) return kBySignal;
  if (report_.records().empty()) return "";
  if (o_.target_accuracy > 0 && report_.records().back().accuracy.value_or(0) >= o_.target_accuracy)
    return "by --target-accuracy";
  if (o_.early_stop > 0 && evaluations_since_best() >= o_.early_stop)
    return fmt::format("by --early-stop {}: no better evaluation", o_.early_stop);
  return "";
}

void TrainingRun::finish_part(double epoch) {
  EpochRecord record;
  record.epoch = std::min(epoch, epochs_after(iterations_));
  record.seconds = part_.seconds;
  record.loss = part_.loss();
  record.images_per_second = part_.iterations_per_second() * static_cast<double>(examples_of_step());
  record.learning_rate = learning_rate_of(std::max<int64_t>(iterations_ - 1, 0));
  evaluate(record);
  part_.restart();
}

bool TrainingRun::improved(const EpochRecord& record) const {
  if (!best_) return true;
  if (record.accuracy && best_->accuracy) return *record.accuracy > *best_->accuracy;
  return better(record.evaluation_loss.value_or(NAN), best_->evaluation_loss.value_or(NAN));
}

int TrainingRun::evaluations_since_best() const {
  const std::vector<EpochRecord>& all = report_.records();
  return static_cast<int>(
      std::count_if(all.begin(), all.end(), [this](const EpochRecord& r) { return r.epoch > best_->epoch; }));
}

// The fewest whole epochs with which all evaluations of the run, the last one too, take less than this part of its
// time.
Interval TrainingRun::evaluation_interval() const {
  if (o_.evaluate_every) return *o_.evaluate_every;
  constexpr double kMost = 0.03;
  constexpr double kForward = 1.0 / 3;  // of a training step
  const double once = kForward * static_cast<double>(data_.test.size()) / static_cast<double>(data_.train.size());
  const auto evaluations = static_cast<int64_t>(kMost * static_cast<double>(o_.epochs) / once);
  if (evaluations == 0) return {static_cast<double>(o_.epochs)};
  return {static_cast<double>((o_.epochs + evaluations - 1) / evaluations)};
}

void TrainingRun::evaluate(EpochRecord& record) {
  const ModelView view = model();
  const Evaluation e =
      evaluator_.run(reinterpret_cast<const std::byte*>(view.weights),
                     reinterpret_cast<const std::byte*>(view.statistics), data_.test.size(), test_.loader());
  times_.evaluation += e.seconds;
  record.evaluation_seconds = e.seconds;
  record.evaluation_loss = e.loss;
  if (e.correct) record.accuracy = e.accuracy();
  if (e.among_best) record.top_k_accuracy = e.top_k_accuracy();
  const bool best = improved(record);
  if (best) best_ = record;
  if (best && o_.keep_best) best_tensors_ = trainer_.tensors(view);
  if (best || !o_.keep_best) confusion_ = e.confusion;
  if (schedule_.observe(e.loss) && restarts_at_falls_) trainer_.restart();
  report_.evaluated(record, iterations_, e);
}

}  // namespace arbalest::tools
