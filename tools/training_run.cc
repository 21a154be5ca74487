#include "tools/training_run.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "onnx_import/edits/model_edits.h"
#include "onnx_import/exporter.h"
#include "tools/interrupt.h"

namespace arbalest::tools {
namespace {

constexpr int64_t kIterationsOfEpoch = 10;  // at least, with as many learners as are chosen
constexpr double kRounding = 1e-6;          // of an iteration: parts of an epoch add up with rounding errors

TrainOptions checked(TrainOptions o) {
  check_averaging(o.averaging, o.epochs);
  return o;
}

DataSplits open_training_data(const TrainOptions& o) {
  DataOptions options;
  options.holdout = o.holdout;
  options.seed = o.training.seed;
  return open_data(o.data, options);
}

ModelEvaluator::Options evaluation_options(const Session& s, const TrainOptions& o) {
  ModelEvaluator::Options options;
  options.threads = o.training.all_learners() * o.training.threads;
  options.batch_symbol = s.batch_symbol();
  options.batch = s.fixed_batch().value_or(100);
  set_class_options(options, o.report.classes);
  return options;
}

}  // namespace

TrainingRun::TrainingRun(const TrainOptions& o)
    : o_(checked(o)),
      data_(open_training_data(o)),
      checkpoints_(o.checkpoints.empty() ? nullptr
                                         : std::make_unique<CheckpointFolder>(o.checkpoints, o.checkpoints_kept)),
      found_(find_checkpoint()),
      session_(opened_session()),
      normalisation_(o.training.normalise ? measure(data_.train) : no_normalisation(data_.train)),
      schedule_(schedule_options(o.training.optimiser), learning_rate(o.training.optimiser),
                static_cast<double>(o.epochs)),
      tuning_(choose_learners()),
      feed_(data_.train, session_, o_.training, normalisation_,
            static_cast<uint64_t>(first_iteration() * o.training.optimiser.accumulate)),
      trace_(o.trace.empty() ? nullptr : std::make_unique<Trace>()),
      trainer_(session_.training.graph, session_.batch(o.training.batch), cpu::kernel_set(), training_options(),
               [this](int learner, Replica& replica) { feed_.load(learner, replica); }),
      test_(data_.test, session_, normalisation_),
      evaluator_(session_.evaluation.graph, trainer_.plan().parameters(), trainer_.plan().states(), cpu::kernel_set(),
                 evaluation_options(session_, o_)),
      report_(o.report, fmt::format("{} on {}", std::filesystem::path(o.model.path).filename().string(), o.data),
              found_.has_value(), first_iteration()),
      restarts_at_falls_(trainer_options(o_.training).restart.any()),
      begin_(Clock::now()) {
  if (o.averaging.on()) average_.emplace(trainer_.plan(), o.averaging.ema);
  if (restarts_at_falls_)
    for (const double epoch : schedule_.steps()) restarts_.push_back(std::max<int64_t>(1, iterations_until(epoch)));
  if (found_) restore();
  last_checkpoint_ = iterations_;
}

Tuning TrainingRun::choose_learners() {
  TrainingArguments& t = o_.training;
  if (!t.tuned) return {};
  if (found_ && found_->checkpoint.facts.contains("learners")) {
    t.learners = std::stoi(found_->checkpoint.fact("learners"));
    if (!t.threads_given) t.threads = std::stoi(found_->checkpoint.fact("threads per learner"));
    if (continues()) return {};
  }
  TuningLimits limits;
  limits.run_examples = static_cast<double>(o_.epochs) * static_cast<double>(data_.train.size());
  limits.most_examples = data_.train.size() / kIterationsOfEpoch;
  return tune_learners(session_, t, limits, [this](const TrainingArguments& arguments) {
    const auto feed = std::make_shared<TrainingFeed>(data_.train, session_, arguments, normalisation_);
    return [feed](int learner, Replica& replica) { feed->load(learner, replica); };
  });
}

TrainerOptions TrainingRun::training_options() const {
  TrainerOptions options = trainer_options(o_.training);
  options.parameters = parameter_settings(o_.training.optimiser, session_.training.parameters);
  options.first_iteration = first_iteration();
  options.trace = trace_.get();
  options.schedule = [this](int64_t t) { return learning_rate_of(t); };
  return options;
}

double TrainingRun::learning_rate_of(int64_t iteration) const { return schedule_.rate_at(epochs_after(iteration)); }

double TrainingRun::epochs_after(int64_t iterations) const {
  return static_cast<double>(iterations * examples_of_step()) / static_cast<double>(data_.train.size());
}

int64_t TrainingRun::iterations_until(double epochs) const {
  constexpr double kNever = 4e18;  // what is asked for later than any run lasts
  const double examples = epochs * static_cast<double>(data_.train.size());
  return static_cast<int64_t>(
      std::min(kNever, std::ceil(examples / static_cast<double>(examples_of_step()) - kRounding)));
}

int64_t TrainingRun::iterations_of(const Interval& interval) const {
  return interval.iterations > 0 ? interval.iterations : std::max<int64_t>(1, iterations_until(interval.epochs));
}

// The iteration, at most `last`, at which something is to be done while all streams rest.
int64_t TrainingRun::next_halt(int64_t last) const {
  if (!restarts_.empty()) last = std::min(last, restarts_.front());
  if (checkpoints_) last = std::min(last, last_checkpoint_ + checkpoint_interval());
  if (report_.wants_progress()) last = std::min(last, (iterations_ / progress_interval() + 1) * progress_interval());
  return last;
}

void TrainingRun::train() {
  const auto epochs = static_cast<double>(o_.epochs);
  int64_t part = 1;
  if (found_)
    while (part_end(part) < epochs && part_is_done(part)) ++part;
  if (found_) stopped_ = reason_to_stop();
  if (found_ && (part_is_done(part) || !stopped_.empty())) return;
  while (train_until(part_end(part)))
    while (iterations_until(part_end(part)) <= iterations_) ++part;  // each trains at least one iteration
  if (checkpoints_ && last_checkpoint_ < iterations_) write_checkpoint();
  if (checkpoints_) checkpoints_->wait();
}

// Runs in chunks of about a fifth of a second, so that the line lives and Ctrl-C is heard.
bool TrainingRun::train_until(double epoch) {
  const int64_t last = iterations_until(epoch);
  int64_t chunk = 1;
  while (iterations_ < last && !interrupted()) {
    const int64_t count = std::min(chunk, next_halt(last) - iterations_);
    const double before = times_.training;
    advance(count);
    const double took = times_.training - before;
    at_halt(last);
    chunk = std::clamp<int64_t>(static_cast<int64_t>(0.2 * static_cast<double>(count) / std::max(took, 1e-6)), 1,
                                2 * chunk);
    show(epoch);
  }
  if (iterations_ < last && checkpoints_) write_checkpoint();  // before the part ends, which it did not
  finish_part(epoch);
  if (checkpoint_is_due()) write_checkpoint();
  if (iterations_ >= iterations_until(static_cast<double>(o_.epochs))) return false;
  stopped_ = reason_to_stop();
  return stopped_.empty();
}

// In one go, but for stops after which the model enters its average: these depend on iterations only, not on timing.
void TrainingRun::advance(int64_t count) {
  const auto begin = Clock::now();
  const int64_t first = iterations_, last = first + count;
  while (iterations_ < last) {
    const int64_t averaging =
        next_averaging(o_.averaging, iterations_, [this](double epochs) { return iterations_until(epochs); });
    const int64_t end = std::min(last, averaging);
    trainer_.run(end - iterations_);
    iterations_ = end;
    if (iterations_ == averaging) average_->add(trainer_.evaluated());
  }
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  times_.training += took;
  const double loss = trainer_.take_loss();
  part_.add(count, loss, took);
  progress_.add(count, loss, took);
  trainer_.keep();
}

// At the end of a part a checkpoint waits for its evaluation.
void TrainingRun::at_halt(int64_t last) {
  if (!restarts_.empty() && restarts_.front() == iterations_) {
    restarts_.erase(restarts_.begin());
    trainer_.restart();
  }
  if (report_.wants_progress() && iterations_ % progress_interval() == 0) {
    report_.progress({iterations_, epochs_after(iterations_), progress_.loss(), learning_rate_of(iterations_ - 1),
                      progress_.iterations_per_second() * static_cast<double>(examples_of_step())});
    progress_.restart();
  }
  if (iterations_ < last && checkpoint_is_due()) write_checkpoint();
}

ModelView TrainingRun::model() { return average_ && average_->count() > 0 ? average_->view() : trainer_.evaluated(); }

void TrainingRun::write_model() {
  const ModelPtr file = o_.inference_form ? in_inference_form(session_.model) : session_.model;
  const bool averaged = average_ && average_->count() > 0;
  export_model(*file,
               session_.completed(!best_tensors_.empty() ? best_tensors_
                                  : averaged             ? trainer_.tensors(average_->view())
                                                         : trainer_.trained()),
               o_.out);
}

std::string TrainingRun::written_model() const {
  if (!best_tensors_.empty()) return fmt::format("the best model, of epoch {:g}", best_->epoch);
  return fmt::format("the {}model of iteration {}", average_ && average_->count() > 0 ? "averaged " : "", iterations_);
}

void TrainingRun::write_trace() const {
  if (trace_) trace_->write(o_.trace);
}

RunTimes TrainingRun::times() const {
  RunTimes times = times_;
  times.wall += std::chrono::duration<double>(Clock::now() - begin_).count();
  return times;
}

int TrainingRun::run() {
  describe();
  report_.start(start_facts(), to_json(tuning_));
  listen_for_interrupts();
  begin_ = Clock::now();
  try {
    train();
  } catch (const Error& e) {
    report_.line().clear();
    write_trace();
    if (!trainer_.has_kept()) throw;
    trainer_.restore_kept();
    write_model();
    throw Error(e.kind(), "{}; {} holds {}", e.what(), o_.out, written_model());
  }
  const RunTimes spent = times();
  report_.line().clear();
  report_.print_table();
  if (!confusion_.empty()) fmt::print("{}\n", confusion_text(confusion_));
  write_model();
  write_trace();
  if (!stopped_.empty()) fmt::print("stopped after iteration {} {}\n", iterations_, stopped_);
  if (o_.keep_best && best_) fmt::print("best after epoch {:g}; ", best_->epoch);
  fmt::print("wrote {} after {} of training\n", o_.out, duration(spent.training));
  report_.end(
      {{"iterations", iterations_}, {"interrupted", stopped_ == kBySignal}, {"stopped", stopped_}, {"output", o_.out}},
      spent, o_.target_accuracy);
  return 0;
}

}  // namespace arbalest::tools
