#include "tools/training_options.h"

#include <fmt/format.h>

namespace arbalest::tools {
namespace {

SyncKind sync_kind(const TrainingArguments& a) {
  if (a.sync == "sma") return SyncKind::sma;
  if (a.sync == "ssgd") return SyncKind::ssgd;
  if (a.sync == "none") return SyncKind::none;
  return a.learners > 1 ? SyncKind::sma : SyncKind::none;
}

}  // namespace

void add_synchroniser_options(CLI::App& command, TrainingArguments& a) {
  command.add_option("--threads-per-learner", a.threads, "threads of each learner")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option(
          "--sync", a.sync,
          "none: the first learner's model counts; ssgd: mean of the gradients; sma: synchronous model averaging;\n"
          "auto: sma for several learners")
      ->check(CLI::IsMember({"auto", "none", "ssgd", "sma"}))
      ->capture_default_str();
  command.add_option("--alpha", a.alpha,
                     "sma: pull between a learner and the central average model (default: 1 / learners)");
  command.add_option("--central-momentum", a.central_momentum, "sma: momentum of the central average model")
      ->capture_default_str();
  command.add_option("--tau", a.tau, "sma: iterations between synchronisations")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_training_options(CLI::App& command, TrainingArguments& a) {
  add_optimiser_options(command, a.optimiser);
  command.add_option("--batch", a.batch, "examples a learner takes in a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--learners", a.learners, "models trained side by side")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_synchroniser_options(command, a);
  command.add_option("--seed", a.seed, "of data order and random numbers")->capture_default_str();
  command.add_flag("!--no-normalise", a.normalise, "give the data as they are (bytes scaled to [0, 1])");
}

TrainerOptions trainer_options(const TrainingArguments& a) {
  TrainerOptions o;
  o.learners = a.learners;
  o.threads_per_learner = a.threads;
  o.seed = a.seed;
  o.learning_rate = learning_rate(a.optimiser);
  o.optimiser = optimiser_options(a.optimiser);
  o.accumulate = a.optimiser.accumulate;
  o.sync = sync_kind(a);
  o.sma.alpha = a.alpha;
  o.sma.central_momentum = a.central_momentum;
  o.sma.tau = a.tau;
  return o;
}

std::string describe_training(const TrainingArguments& a) {
  std::string text = fmt::format("{} learner{} x {} thread{}, batch {}{}", a.learners, a.learners == 1 ? "" : "s",
                                 a.threads, a.threads == 1 ? "" : "s", a.batch, a.learners == 1 ? "" : " each");
  const TrainerOptions o = trainer_options(a);
  if (a.optimiser.accumulate > 1) text += fmt::format(", {} batches a step", a.optimiser.accumulate);
  if (o.optimiser.kind != OptimiserKind::sgd) text += fmt::format(", {}", name_of(o.optimiser.kind));
  if (o.sync == SyncKind::sma) {
    text += fmt::format(", SMA alpha {:.3g}, central momentum {:.3g}",
                        sma_alpha(o.sma, static_cast<size_t>(a.learners)), a.central_momentum);
    if (a.tau > 1) text += fmt::format(", tau {}", a.tau);
  }
  if (o.sync == SyncKind::ssgd) text += ", S-SGD";
  if (o.sync == SyncKind::none && a.learners > 1) text += ", not synchronised";
  return text;
}

}  // namespace arbalest::tools
