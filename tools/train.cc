// arbalest train: trains a model on a data set and writes it back.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <memory>

#include "onnx_import/edits/model_edits.h"
#include "onnx_import/exporter.h"
#include "sync/evaluator.h"
#include "tools/command.h"
#include "tools/dataset_feed.h"
#include "tools/machine.h"
#include "tools/own_training.h"
#include "tools/progress.h"
#include "tools/session.h"
#include "tools/table.h"
#include "tools/training_options.h"

namespace arbalest::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  ModelArguments model;
  TrainingArguments training;
  std::string data, out, log, trace;
  bool inference_form = false, training_info = false, initialise = false;
  double holdout = 0.1, target_accuracy = 0;
  int64_t epochs = 5;
};

std::atomic<int> interrupts = 0;
void on_interrupt(int) {
  if (++interrupts > 1) std::_Exit(130);  // asked twice: at once
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Where the evaluated model goes; refuses early what would fail after hours of training.
void check_output(const std::string& path) {
  if (path.empty()) return;
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(folder))
    throw Error(ErrorKind::io, "{}: the folder {} does not exist", path, folder.string());
  if (std::filesystem::is_directory(path)) throw Error(ErrorKind::io, "{}: is a folder; give a file name", path);
}

class Training {
 public:
  explicit Training(const Options& o);
  int run();

 private:
  TrainerOptions training_options() const;
  void describe() const;
  bool train_epoch(int64_t epoch);  // false: stop
  void evaluate(EpochRecord& record);
  int64_t iterations_to_restart() const;
  void restart();
  void show(int64_t epoch, double fraction, double loss, double rate, double left);
  void write_model();
  void write_trace() const;
  int64_t iterations_until(double epochs) const;
  int64_t examples_of_step() const {
    return o_.training.all_learners() * o_.training.batch * o_.training.optimiser.accumulate;
  }

  const Options& o_;
  DataSplits data_;
  Session session_;
  TrainingFeed feed_;
  Schedule schedule_;
  std::unique_ptr<Trace> trace_;
  Trainer trainer_;
  EvaluationFeed test_;
  ModelEvaluator evaluator_;
  JsonLog log_;
  LiveLine line_;
  std::vector<EpochRecord> epochs_;
  std::vector<int64_t> restarts_;  // iterations still to come before which the averaging begins anew
  int64_t iterations_ = 0;
  double training_seconds_ = 0;
};

Session open_training_session(const Options& o, const DataFacts& data) {
  Session session = open_session(o.model, data);
  session.require_parameters();
  return session;
}

DataSplits open_training_data(const Options& o) {
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

Training::Training(const Options& o)
    : o_(o),
      data_(open_training_data(o)),
      session_(open_training_session(o, facts_of(data_.train))),
      feed_(data_.train, session_, o.training),
      schedule_(schedule_options(o.training.optimiser), learning_rate(o.training.optimiser),
                static_cast<double>(o.epochs)),
      trace_(o.trace.empty() ? nullptr : std::make_unique<Trace>()),
      trainer_(session_.training.graph, session_.batch(o.training.batch), cpu::kernel_set(), training_options(),
               [this](int learner, Replica& replica) { feed_.load(learner, replica); }),
      test_(data_.test, session_, feed_.normalisation()),
      evaluator_(session_.evaluation.graph, trainer_.plan().parameters(), trainer_.plan().states(), cpu::kernel_set(),
                 evaluation_options(session_, o.training)),
      log_(o.log) {
  if (trainer_options(o.training).restart.any())
    for (const double epoch : schedule_.steps()) restarts_.push_back(std::max<int64_t>(1, iterations_until(epoch)));
  check_labels_fit(data_.train, session_);
  check_labels_fit(data_.test, session_);
}

TrainerOptions Training::training_options() const {
  TrainerOptions options = trainer_options(o_.training);
  options.parameters = parameter_settings(o_.training.optimiser, session_.training.parameters);
  const double epochs_a_step = static_cast<double>(examples_of_step()) / static_cast<double>(data_.train.size());
  options.trace = trace_.get();
  options.schedule = [this, epochs_a_step](int64_t t) {
    return schedule_.rate_at(static_cast<double>(t) * epochs_a_step);
  };
  return options;
}

void Training::describe() const {
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
}

int64_t Training::iterations_until(double epochs) const {
  return static_cast<int64_t>(
      std::ceil(epochs * static_cast<double>(data_.train.size()) / static_cast<double>(examples_of_step())));
}

void Training::show(int64_t epoch, double fraction, double loss, double rate, double left) {
  line_.show(fmt::format("epoch {}/{}  {} {:3.0f} %  loss {:.4f}  {} images/s  {} left", epoch, o_.epochs,
                         progress_bar(fraction, 28), fraction * 100, loss, with_thousands(std::llround(rate)),
                         duration(left)));
}

int64_t Training::iterations_to_restart() const {
  return restarts_.empty() ? std::numeric_limits<int64_t>::max() : restarts_.front() - iterations_;
}

void Training::restart() {
  restarts_.erase(restarts_.begin());
  trainer_.restart();
}

// Runs in chunks of about a fifth of a second, so that the line lives and Ctrl-C is heard.
bool Training::train_epoch(int64_t epoch) {
  const auto until = [this](int64_t e) { return iterations_until(static_cast<double>(e)); };
  const int64_t first = iterations_, last = until(epoch), total = until(o_.epochs), per_iteration = examples_of_step();
  double seconds = 0, loss = 0;
  int64_t chunk = 1;
  while (iterations_ < last && !interrupts) {
    const int64_t count = std::min({chunk, last - iterations_, iterations_to_restart()});
    const auto begin = Clock::now();
    trainer_.run(count);
    const double took = seconds_since(begin);
    seconds += took;
    iterations_ += count;
    loss += trainer_.take_loss() * static_cast<double>(count);
    trainer_.keep();
    if (iterations_to_restart() == 0) restart();
    chunk = std::clamp<int64_t>(static_cast<int64_t>(0.2 * static_cast<double>(count) / std::max(took, 1e-6)), 1,
                                2 * chunk);
    const auto done = static_cast<double>(iterations_ - first);
    const double rate = done * static_cast<double>(per_iteration) / seconds;
    show(epoch, done / static_cast<double>(last - first), loss / done, rate,
         static_cast<double>(total - iterations_) * seconds / done);
  }
  training_seconds_ += seconds;
  const auto done = static_cast<double>(std::max<int64_t>(iterations_ - first, 1));
  EpochRecord record;
  record.epoch = epoch;
  record.seconds = seconds;
  record.loss = loss / done;
  record.images_per_second = done * static_cast<double>(per_iteration) / std::max(seconds, 1e-9);
  evaluate(record);
  epochs_.push_back(record);
  log_.write(to_json(record));
  return !interrupts && !(o_.target_accuracy > 0 && record.accuracy.value_or(0) >= o_.target_accuracy);
}

void Training::evaluate(EpochRecord& record) {
  const Evaluation e = evaluator_.run(trainer_.parameters(), trainer_.states(), data_.test.size(), test_.loader());
  record.evaluation_loss = e.loss;
  if (e.correct) record.accuracy = e.accuracy();
  const bool restarts = trainer_options(o_.training).restart.any();
  if (schedule_.observe(e.loss) && restarts) trainer_.restart();
}

void Training::write_model() {
  const ModelPtr file = o_.inference_form ? in_inference_form(session_.model) : session_.model;
  export_model(*file, session_.completed(trainer_.trained()), o_.out);
}

void Training::write_trace() const {
  if (trace_) trace_->write(o_.trace);
}

int Training::run() {
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
              {"schedule", o_.training.optimiser.schedule_kind}});
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  try {
    for (int64_t epoch = 1; epoch <= o_.epochs; ++epoch)
      if (!train_epoch(epoch)) break;
  } catch (const Error& e) {
    line_.clear();
    write_trace();
    if (!trainer_.has_kept()) throw;
    trainer_.restore_kept();
    write_model();
    throw Error(e.kind(), "{}; {} holds the model of iteration {}", e.what(), o_.out, iterations_);
  }
  line_.clear();
  fmt::print("\n{}\n", epoch_table(epochs_));
  write_model();
  write_trace();
  if (interrupts) fmt::print("stopped by a signal after iteration {}; ", iterations_);
  fmt::print("wrote {} after {} of training\n", o_.out, duration(training_seconds_));
  log_.write({{"event", "end"},
              {"iterations", iterations_},
              {"seconds", training_seconds_},
              {"interrupted", interrupts > 0},
              {"output", o_.out}});
  return 0;
}

}  // namespace

Run add_train(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("train", "train a model and write it back with trained weights");
  add_model_argument(*command, o->model);
  command->add_option("--data", o->data, "fashion-mnist, mnist:DIR, a folder of IDX files, or an .npz file")
      ->required();
  command->add_option("-o,--out", o->out, "ONNX file to write")->required();
  add_loss_options(*command, o->model);
  add_selection_options(*command, o->model);
  add_edit_options(*command, o->model);
  add_layer_options(*command, o->model);
  add_training_options(*command, o->training);
  add_schedule_options(*command, o->training.optimiser);
  command->add_option("--epochs", o->epochs, "passes over the training examples")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--holdout", o->holdout, "part of the examples held out where the data have no test split")
      ->check(CLI::Range(0.001, 0.999))
      ->capture_default_str();
  command->add_option("--target-accuracy", o->target_accuracy, "stop when the accuracy reaches this part of 1")
      ->check(CLI::Range(0.0, 1.0));
  command->add_flag("--training-info", o->training_info,
                    "train as the model's own training_info says: its loss, its optimiser (one learner)");
  command->add_flag("--initialise", o->initialise, "with --training-info: begin with the file's own start values")
      ->needs("--training-info");
  command->add_flag("--inference-form", o->inference_form,
                    "write BatchNormalization with its running statistics where the file has it in training mode");
  command->add_option("--log", o->log, "write one JSON object a line: start, each epoch, end");
  command->add_option("--trace", o->trace,
                      "write what ran when, a row a stream, for chrome://tracing or ui.perfetto.dev");
  command->footer(
      "Ctrl-C ends after the current iterations and writes the model.\nExamples:\n"
      "  arbalest train lenet.onnx --data fashion-mnist -o trained.onnx\n"
      "  arbalest train resnet.onnx --data photos.npz --learners 4 --batch 8 --lr 0.05 --epochs 20 -o trained.onnx\n"
      "  arbalest train resnet.onnx --data photos.npz --freeze 'layer[1-3].*' --log run.jsonl -o trained.onnx");
  return [o] {
    check_output(o->out);
    check_output(o->trace);
    o->model.seed = o->training.seed;
    if (o->training_info)
      return train_by_training_info(
          {o->model.path, o->data, o->out, o->epochs, o->holdout, o->initialise, o->training});
    return Training(*o).run();
  };
}

}  // namespace arbalest::tools
