// arbalest train: trains a model on a data set and writes it back.
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <set>

#include "tools/command.h"
#include "tools/own_training.h"
#include "tools/training_run.h"

namespace arbalest::tools {
namespace {

// Where the model goes; refuses early what would fail after hours of training.
void check_output(const std::string& path) {
  if (path.empty()) return;
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(folder))
    throw Error(ErrorKind::io, "{}: the folder {} does not exist", path, folder.string());
  if (std::filesystem::is_directory(path)) throw Error(ErrorKind::io, "{}: is a folder; give a file name", path);
}

void add_checkpoint_options(CLI::App& command, TrainOptions& o) {
  CLI::Option* folder =
      command
          .add_option("--checkpoint", o.checkpoints, "folder for checkpoints, from which --resume goes on bit for bit")
          ->check([](const std::string& path) { return path.empty() ? "is empty" : ""; });
  add_interval_option(
      command, "--checkpoint-every", [&o](const Interval& interval) { o.checkpoint_every = interval; },
      "epochs between checkpoints, for example 0.1, or iterations: 500it")
      ->default_str("1")
      ->needs(folder);
  command.add_option("--keep-checkpoints", o.checkpoints_kept, "how many of the newest stay")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->needs(folder);
  command
      .add_flag("--resume", o.resume,
                "go on from the newest whole checkpoint: give the same options again; with other learners, batch or\n"
                "optimiser, the run starts from the checkpoint's model")
      ->needs(folder);
}

// Those on which the trained weights depend; the learners are told apart by what was chosen.
std::map<std::string, std::string> given_options(const CLI::App& command) {
  static const std::set<std::string> others{"--out",
                                            "--checkpoint",
                                            "--checkpoint-every",
                                            "--keep-checkpoints",
                                            "--resume",
                                            "--log",
                                            "--log-every",
                                            "--tensorboard",
                                            "--curves",
                                            "--trace",
                                            "--top-k",
                                            "--confusion",
                                            "--learners",
                                            "--threads-per-learner"};
  std::map<std::string, std::string> given;
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && !others.contains(option->get_name()))
      given[option->get_name()] =
          option->get_items_expected_max() == 0 ? "given" : fmt::format("{}", fmt::join(option->results(), " "));
  return given;
}

// What training_info does not say itself.
void check_own_training(const CLI::App& command) {
  static const std::set<std::string> used{
      "model",           "--data",       "--out",   "--epochs", "--holdout",
      "--training-info", "--initialise", "--batch", "--seed",   "--threads-per-learner",
      "--no-normalise"};
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && !used.contains(option->get_name()))
      throw Error(ErrorKind::usage, "{} has no effect with --training-info", option->get_name());
}

}  // namespace

Run add_train(CLI::App& app) {
  auto o = std::make_shared<TrainOptions>();
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
  add_interval_option(
      *command, "--evaluate-every", [o](const Interval& interval) { o->evaluate_every = interval; },
      "epochs between evaluations, for example 0.25, or iterations: 500it; by default the fewest whole epochs\n"
      "with which evaluating takes under 3 % of the time, if there are so many");
  command->add_option("--early-stop", o->early_stop, "stop after so many evaluations without a better one")
      ->check(CLI::Range(1, 1 << 20));
  add_averaging_options(*command, o->averaging);
  command->add_flag("--keep-best", o->keep_best, "write the model of the best evaluation, not the last one");
  add_checkpoint_options(*command, *o);
  command->add_flag("--training-info", o->training_info,
                    "train as the model's own training_info says: its loss, its optimiser (one learner)");
  command->add_flag("--initialise", o->initialise, "with --training-info: begin with the file's own start values")
      ->needs("--training-info");
  command->add_flag("--inference-form", o->inference_form,
                    "write BatchNormalization with its running statistics where the file has it in training mode");
  add_report_options(*command, o->report);
  command->add_option("--trace", o->trace,
                      "write what ran when, a row a stream, for chrome://tracing or ui.perfetto.dev");
  command->footer(
      "Ctrl-C ends after the current iterations and writes the model.\nExamples:\n"
      "  arbalest train lenet.onnx --data fashion-mnist -o trained.onnx\n"
      "  arbalest train resnet.onnx --data photos.npz --learners 4 --batch 8 --lr 0.05 --epochs 20 -o trained.onnx\n"
      "  arbalest train resnet.onnx --data photos.npz --freeze 'layer[1-3].*' --log run.jsonl -o trained.onnx");
  return [o, command] {
    check_output(o->out);
    check_output(o->trace);
    check_output(o->report.log);
    check_output(o->report.curves);
    o->model.seed = o->training.seed;
    o->given = given_options(*command);
    if (o->training_info) check_own_training(*command);
    if (o->training_info)
      return train_by_training_info(
          {o->model.path, o->data, o->out, o->epochs, o->holdout, o->initialise, o->training});
    return TrainingRun(*o).run();
  };
}

}  // namespace arbalest::tools
