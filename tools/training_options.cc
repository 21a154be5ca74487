#include "tools/training_options.h"

#include <fmt/format.h>

namespace arbalest::tools {
namespace {

constexpr int kMostLearners = 1024;

}  // namespace

CLI::Validator learner_count() {
  return CLI::Validator(
      [](std::string& text) {
        return text == "auto" ? ""
               : CLI::Range(1, kMostLearners)(text).empty()
                   ? std::string()
                   : fmt::format("'{}' is neither auto nor a number from 1 to {}", text, kMostLearners);
      },
      "auto or a number");
}

void add_learner_options(CLI::App& command, TrainingArguments& a) {
  command
      .add_option_function<int>(
          "--threads-per-learner",
          [&a](int threads) {
            a.threads = threads;
            a.threads_given = true;
          },
          "threads of each learner (default: 1, or chosen with the learners)")
      ->check(CLI::Range(1, kMostLearners));
  command
      .add_option("--devices", a.devices,
                  "groups of learners that synchronise as if on separate devices, each with --learners of them")
      ->check(CLI::Range(1, kMostLearners))
      ->capture_default_str();
  add_synchroniser_options(command, a.synchroniser);
}

void add_training_options(CLI::App& command, TrainingArguments& a) {
  add_optimiser_options(command, a.optimiser);
  command.add_option("--batch", a.batch, "examples a learner takes in a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  a.tuned = true;
  command
      .add_option_function<std::string>(
          "--learners",
          [&a](const std::string& text) {
            a.tuned = text == "auto";
            if (!a.tuned) a.learners = std::stoi(text);
          },
          "models trained side by side; auto: as many as train the most examples a second, measured at the start\n"
          "(a run of some seconds: one). What auto chooses depends on timing: the numbers that it prints, given with\n"
          "--learners and --threads-per-learner, repeat the run bit for bit")
      ->check(learner_count())
      ->default_str("auto");
  add_learner_options(command, a);
  command.add_option("--seed", a.seed, "of data order and random numbers")->capture_default_str();
  command.add_flag("!--no-normalise", a.normalise, "give the data as they are (bytes scaled to [0, 1])");
}

TrainerOptions trainer_options(const TrainingArguments& a) {
  if (a.all_learners() > kMostLearners)
    throw Error(ErrorKind::usage, "--devices {} with --learners {}: at most {} learners in all", a.devices, a.learners,
                kMostLearners);
  TrainerOptions o;
  o.learners = a.learners;
  o.devices = a.devices;
  o.threads_per_learner = a.threads;
  o.seed = a.seed;
  o.learning_rate = learning_rate(a.optimiser);
  o.optimiser = optimiser_options(a.optimiser);
  o.accumulate = a.optimiser.accumulate;
  set_synchroniser(o, a.synchroniser);
  return o;
}

std::string learners_text(int learners, int threads) {
  return fmt::format("{} learner{} x {} thread{}", learners, learners == 1 ? "" : "s", threads,
                     threads == 1 ? "" : "s");
}

std::string describe_training(const TrainingArguments& a) {
  std::string text = fmt::format("{}, batch {}{}", learners_text(a.learners, a.threads), a.batch,
                                 a.all_learners() == 1 ? "" : " each");
  if (a.devices > 1) text = fmt::format("{} devices x {}", a.devices, text);
  const TrainerOptions o = trainer_options(a);
  if (a.optimiser.accumulate > 1) text += fmt::format(", {} batches a step", a.optimiser.accumulate);
  if (o.optimiser.kind != OptimiserKind::sgd) text += fmt::format(", {}", name_of(o.optimiser.kind));
  const std::string synchroniser = describe_synchroniser(o);
  if (!synchroniser.empty()) text += ", " + synchroniser;
  return text;
}

}  // namespace arbalest::tools
