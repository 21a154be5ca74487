#include "tools/training_run.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>

#include "onnx_import/edits/model_edits.h"
#include "onnx_import/exporter.h"
#include "tools/machine.h"
#include "tools/table.h"

namespace arbalest::tools {
namespace {

std::atomic<int> interrupts = 0;
void on_interrupt(int) {
  if (++interrupts > 1) std::_Exit(130);  // asked twice: at once
}

DataSplits open_training_data(const TrainOptions& o) {
  DataOptions options;
  options.holdout = o.holdout;
  options.seed = o.training.seed;
  return open_data(o.data, options);
}

ModelEvaluator::Options evaluation_options(const Session& s, const TrainingArguments& t) {
  ModelEvaluator::Options options;
  options.threads = t.all_learners() * t.threads;
  options.batch_symbol = s.batch_symbol();
  options.batch = s.fixed_batch().value_or(100);
  return options;
}

std::string layout_text(const ParameterLayout& layout) {
  std::string text;
  for (const ParameterSlot& slot : layout.slots())
    text += fmt::format("{}:{}+{};", slot.name, slot.offset, slot.bytes());
  return text;
}

}  // namespace

TrainingRun::TrainingRun(const TrainOptions& o)
    : o_(o),
      data_(open_training_data(o)),
      checkpoints_(o.checkpoints.empty() ? nullptr
                                         : std::make_unique<CheckpointFolder>(o.checkpoints, o.checkpoints_kept)),
      found_(find_checkpoint()),
      session_(opened_session()),
      feed_(data_.train, session_, o.training,
            static_cast<uint64_t>(first_iteration() * o.training.optimiser.accumulate)),
      schedule_(schedule_options(o.training.optimiser), learning_rate(o.training.optimiser),
                static_cast<double>(o.epochs)),
      trace_(o.trace.empty() ? nullptr : std::make_unique<Trace>()),
      trainer_(session_.training.graph, session_.batch(o.training.batch), cpu::kernel_set(), training_options(),
               [this](int learner, Replica& replica) { feed_.load(learner, replica); }),
      test_(data_.test, session_, feed_.normalisation()),
      evaluator_(session_.evaluation.graph, trainer_.plan().parameters(), trainer_.plan().states(), cpu::kernel_set(),
                 evaluation_options(session_, o.training)),
      log_(o.log, o.resume) {
  if (trainer_options(o.training).restart.any())
    for (const double epoch : schedule_.steps()) restarts_.push_back(std::max<int64_t>(1, iterations_until(epoch)));
  check_labels_fit(data_.train, session_);
  check_labels_fit(data_.test, session_);
  if (found_) restore();
  last_checkpoint_ = iterations_;
}

std::optional<FoundCheckpoint> TrainingRun::find_checkpoint() {
  if (!o_.resume) return std::nullopt;
  if (!checkpoints_) throw Error(ErrorKind::usage, "--resume: needs --checkpoint DIR, the folder to go on from");
  return checkpoints_->newest();
}

std::string TrainingRun::identity() const {
  const TrainingArguments& t = o_.training;
  return fmt::format("seed {}, {}, examples {}, normalised {}", t.seed, describe_training(t), data_.train.size(),
                     t.normalise);
}

bool TrainingRun::continues() const { return found_ && found_->checkpoint.fact("run") == identity(); }

int64_t TrainingRun::first_iteration() const {
  if (!found_) return 0;
  if (continues()) return std::stoll(found_->checkpoint.fact("iteration"));
  return std::stoll(found_->checkpoint.fact("examples")) / examples_of_step();
}

// With other learners than the checkpoint's the run starts from its evaluated model.
Session TrainingRun::opened_session() {
  Session session = open_session(o_.model, facts_of(data_.train));
  session.require_parameters();
  if (!found_) return session;
  for (GraphInput& input : session.training.graph.inputs) {
    if (input.role != InputRole::parameter && input.role != InputRole::state) continue;
    HostTensor value(input.initial->dtype, input.initial->dims);
    const std::vector<NamedBytes> place{{input.name, std::span(value.bytes)}};
    if (!found_->checkpoint.fits("model/", place))
      throw Error(ErrorKind::usage, "{}: has no parameter '{}' of this size; it belongs to another model", found_->path,
                  input.name);
    found_->checkpoint.copy_to("model/", place);
    input.initial = std::make_shared<const HostTensor>(std::move(value));
  }
  return session;
}

TrainerOptions TrainingRun::training_options() const {
  TrainerOptions options = trainer_options(o_.training);
  options.parameters = parameter_settings(o_.training.optimiser, session_.training.parameters);
  options.first_iteration = first_iteration();
  options.trace = trace_.get();
  const double epochs_a_step = static_cast<double>(examples_of_step()) / static_cast<double>(data_.train.size());
  options.schedule = [this, epochs_a_step](int64_t t) {
    return schedule_.rate_at(static_cast<double>(t) * epochs_a_step);
  };
  return options;
}

void TrainingRun::describe() const {
  const ModelFacts f = facts(*session_.model);
  double trained = 0;
  int64_t tensors = 0, kept = 0;
  for (const ParameterReport& p : session_.training.parameters) {
    if (p.trains) trained += static_cast<double>(element_count(p.type.dims()));
    ++(p.trains ? tensors : kept);
  }
  fmt::print("{:<12}  {}{}opset {}, {} nodes; {} parameters in {} tensors train, {} other tensors do not\n",
             std::filesystem::path(o_.model.path).filename().string(), f.producer, f.producer.empty() ? "" : ", ",
             f.opset, f.nodes, short_count(trained), tensors, kept);
  std::vector<std::string> notices = session_.notices;
  for (std::string& n : gradient_notices(session_, session_.batch(o_.training.batch))) notices.push_back(std::move(n));
  for (const std::string& notice : notices) fmt::print("{:<12}  {}\n", "note", notice);
  fmt::print("{:<12}  {}{}\n", "data", arbalest::describe(data_), describe_normalisation(feed_.normalisation()));
  fmt::print("{:<12}  {}; {}\n", "machine", machine_text(), describe_training(o_.training));
  if (o_.resume && !found_) fmt::print("{:<12}  no checkpoint in {} yet: starting anew\n", "note", o_.checkpoints);
  if (!found_) return;
  for (const std::string& fault : found_->damaged) fmt::print("{:<12}  {}; using the one before\n", "note", fault);
  fmt::print("{:<12}  {} {}, at iteration {}\n", "resume", continues() ? "continues" : "starts from the model of",
             found_->path, iterations_);
}

int64_t TrainingRun::iterations_until(double epochs) const {
  return static_cast<int64_t>(
      std::ceil(epochs * static_cast<double>(data_.train.size()) / static_cast<double>(examples_of_step())));
}

void TrainingRun::write_checkpoint() {
  last_checkpoint_ = iterations_;
  Checkpoint c;
  const Schedule::State& s = schedule_.state();
  nlohmann::json progress = {
      {"training_seconds", training_seconds_},  // numbers are written so that they come back exact
      {"part_begin", part_begin_},
      {"part_seconds", part_seconds_},
      {"part_loss", part_loss_},
      {"schedule", {s.factor, s.best, s.waited, s.observed}},
      {"records", nlohmann::json::array()}};
  for (const EpochRecord& record : records_) progress["records"].push_back(to_json(record));
  if (best_) progress["best"] = to_json(*best_);
  c.facts = {{"run", identity()},
             {"layout", layout_text(*trainer_.plan().parameters())},
             {"iteration", std::to_string(iterations_)},
             {"examples", std::to_string(iterations_ * examples_of_step())},
             {"progress", progress.dump()}};
  c.add("run/", trainer_.arrays());
  for (auto& [name, tensor] : trainer_.trained()) c.arrays["model/" + name] = tensor.bytes;
  for (const auto& [name, tensor] : best_tensors_) c.arrays["best/" + name] = tensor.bytes;
  checkpoints_->write(std::move(c), iterations_);
}

void TrainingRun::restore() {
  const Checkpoint& c = found_->checkpoint;
  iterations_ = part_begin_ = first_iteration();
  std::erase_if(restarts_, [this](int64_t at) { return at <= iterations_; });
  if (!continues()) return;
  const std::vector<NamedBytes> arrays = trainer_.arrays();
  if (c.fact("layout") != layout_text(*trainer_.plan().parameters()) || !c.fits("run/", arrays))
    throw Error(ErrorKind::usage,
                "{}: its arrays are laid out for another processor or version; another --seed starts from its model",
                found_->path);
  c.copy_to("run/", arrays);
  const nlohmann::json progress = nlohmann::json::parse(c.fact("progress"));
  training_seconds_ = progress.at("training_seconds");
  part_begin_ = progress.at("part_begin");
  part_seconds_ = progress.at("part_seconds");
  part_loss_ = progress.at("part_loss");
  const nlohmann::json& s = progress.at("schedule");
  schedule_.set_state({s.at(0), s.at(1), s.at(2), s.at(3)});
  for (const nlohmann::json& record : progress.at("records")) records_.push_back(epoch_record(record));
  if (!progress.contains("best")) return;
  best_ = epoch_record(progress["best"]);
  if (!o_.keep_best) return;
  best_tensors_ = trainer_.trained();
  std::vector<NamedBytes> places;
  for (auto& [name, tensor] : best_tensors_) places.push_back({name, std::span(tensor.bytes)});
  if (!c.fits("best/", places))
    throw Error(ErrorKind::usage, "--keep-best: the run of {} did not keep it", found_->path);
  c.copy_to("best/", places);
}

void TrainingRun::show(double epoch, double fraction, double rate, double left) {
  const auto done = static_cast<double>(std::max<int64_t>(iterations_ - part_begin_, 1));
  line_.show(fmt::format("epoch {:g}/{}  {} {:3.0f} %  loss {:.4f}  {} images/s  {} left", epoch, o_.epochs,
                         progress_bar(fraction, 28), fraction * 100, part_loss_ / done,
                         with_thousands(std::llround(rate)), duration(left)));
}

// The iteration, at most `last`, at which something is to be done while all streams rest.
int64_t TrainingRun::next_halt(int64_t last) const {
  if (!restarts_.empty()) last = std::min(last, restarts_.front());
  if (checkpoints_) last = std::min(last, last_checkpoint_ + checkpoint_interval());
  return last;
}

// Runs in chunks of about a fifth of a second, so that the line lives and Ctrl-C is heard.
bool TrainingRun::train_until(double epoch) {
  const int64_t last = iterations_until(epoch), total = iterations_until(static_cast<double>(o_.epochs));
  int64_t chunk = 1;
  while (iterations_ < last && !interrupts) {
    const int64_t count = std::min(chunk, next_halt(last) - iterations_);
    const auto begin = Clock::now();
    trainer_.run(count);
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    part_seconds_ += took;
    training_seconds_ += took;
    iterations_ += count;
    part_loss_ += trainer_.take_loss() * static_cast<double>(count);
    trainer_.keep();
    if (!restarts_.empty() && restarts_.front() == iterations_) {
      restarts_.erase(restarts_.begin());
      trainer_.restart();
    }
    if (checkpoints_ && iterations_ - last_checkpoint_ >= checkpoint_interval()) write_checkpoint();
    chunk = std::clamp<int64_t>(static_cast<int64_t>(0.2 * static_cast<double>(count) / std::max(took, 1e-6)), 1,
                                2 * chunk);
    const auto done = static_cast<double>(iterations_ - part_begin_);
    show(epoch, done / static_cast<double>(last - part_begin_),
         done * static_cast<double>(examples_of_step()) / part_seconds_,
         static_cast<double>(total - iterations_) * part_seconds_ / done);
  }
  if (interrupts && checkpoints_) write_checkpoint();  // before the part ends, which it did not
  finish_part(epoch);
  const EpochRecord& record = records_.back();
  if (o_.early_stop > 0 && record.epoch - best_->epoch > o_.early_stop * o_.evaluate_every - 1e-9) return false;
  return !interrupts && !(o_.target_accuracy > 0 && record.accuracy.value_or(0) >= o_.target_accuracy);
}

void TrainingRun::finish_part(double epoch) {
  const auto done = static_cast<double>(std::max<int64_t>(iterations_ - part_begin_, 1));
  EpochRecord record;
  record.epoch = epoch;
  record.seconds = part_seconds_;
  record.loss = part_loss_ / done;
  record.images_per_second = done * static_cast<double>(examples_of_step()) / std::max(part_seconds_, 1e-9);
  evaluate(record);
  records_.push_back(record);
  log_.write(to_json(record));
  part_seconds_ = part_loss_ = 0;
  part_begin_ = iterations_;
}

bool TrainingRun::improved(const EpochRecord& record) const {
  if (!best_) return true;
  if (record.accuracy && best_->accuracy) return *record.accuracy > *best_->accuracy;
  return record.evaluation_loss < best_->evaluation_loss;
}

void TrainingRun::evaluate(EpochRecord& record) {
  const Evaluation e = evaluator_.run(trainer_.parameters(), trainer_.states(), data_.test.size(), test_.loader());
  record.evaluation_loss = e.loss;
  if (e.correct) record.accuracy = e.accuracy();
  if (improved(record)) {
    best_ = record;
    if (o_.keep_best) best_tensors_ = trainer_.trained();
  }
  const bool restarts = trainer_options(o_.training).restart.any();
  if (schedule_.observe(e.loss) && restarts) trainer_.restart();
}

void TrainingRun::write_model() {
  const ModelPtr file = o_.inference_form ? in_inference_form(session_.model) : session_.model;
  export_model(*file, session_.completed(best_tensors_.empty() ? trainer_.trained() : best_tensors_), o_.out);
}

void TrainingRun::write_trace() const {
  if (trace_) trace_->write(o_.trace);
}

int TrainingRun::run() {
  describe();
  log_.write({{"event", "start"},
              {"model", o_.model.path},
              {"data", o_.data},
              {"learners", o_.training.learners},
              {"threads_per_learner", o_.training.threads},
              {"batch", o_.training.batch},
              {"devices", o_.training.devices},
              {"sync", o_.training.synchroniser.sync},
              {"seed", o_.training.seed},
              {"optimiser", o_.training.optimiser.kind},
              {"learning_rate", learning_rate(o_.training.optimiser)},
              {"momentum", optimiser_options(o_.training.optimiser).momentum},
              {"schedule", o_.training.optimiser.schedule_kind},
              {"iteration", iterations_}});
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  const auto epochs = static_cast<double>(o_.epochs);
  try {
    for (double last = records_.empty() ? 0 : records_.back().epoch; last < epochs;) {
      last = std::min(epochs, last + o_.evaluate_every);
      if (!train_until(last)) break;
    }
    if (checkpoints_) checkpoints_->wait();
  } catch (const Error& e) {
    line_.clear();
    write_trace();
    if (!trainer_.has_kept()) throw;
    trainer_.restore_kept();
    write_model();
    throw Error(e.kind(), "{}; {} holds the model of iteration {}", e.what(), o_.out, iterations_);
  }
  line_.clear();
  fmt::print("\n{}\n", epoch_table(records_));
  write_model();
  write_trace();
  if (interrupts) fmt::print("stopped by a signal after iteration {}; ", iterations_);
  if (o_.keep_best && best_) fmt::print("best after epoch {:g}; ", best_->epoch);
  fmt::print("wrote {} after {} of training\n", o_.out, duration(training_seconds_));
  log_.write({{"event", "end"},
              {"iterations", iterations_},
              {"seconds", training_seconds_},
              {"interrupted", interrupts > 0},
              {"output", o_.out}});
  return 0;
}

}  // namespace arbalest::tools
