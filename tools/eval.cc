// arbalest eval: loss and accuracy of a model on a data set.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "sync/learner_memory.h"
#include "tools/class_report.h"
#include "tools/command.h"
#include "tools/dataset_feed.h"
#include "tools/machine.h"
#include "tools/session.h"
#include "tools/table.h"

namespace arbalest::tools {
namespace {

struct EvalOptions {
  ModelArguments model;
  std::string data, split = "test";
  double holdout = 0.1;
  uint64_t seed = 1;
  bool json = false, normalise = true;
  ClassArguments classes;
};

int run_eval(const EvalOptions& o) {
  DataOptions data_options;
  data_options.holdout = o.holdout;
  data_options.seed = o.seed;
  const DataSplits data = open_data(o.data, data_options);
  const Dataset& split = o.split == "test" ? data.test : data.train;
  const Session session = open_session(o.model, facts_of(data.train));
  check_labels_fit(split, session);
  check_fills_a_batch(split, session);
  const EvaluationFeed feed(split, session, o.normalise ? measure(data.train) : no_normalisation(data.train));

  ModelEvaluator::Options options;
  options.threads = core_count();
  options.batch = std::min<int64_t>(session.fixed_batch().value_or(100), split.size());
  options.batch_symbol = session.batch_symbol();
  set_class_options(options, o.classes);
  CompileOptions compile_options;
  compile_options.gradients = false;
  PlanFamily plans(session.evaluation.graph, cpu::kernel_set(), compile_options);
  const auto plan = plans.plan(0, session.batch(options.batch));
  AlignedBytes parameters(plan->parameters()->bytes()), states(plan->states()->bytes());
  write_initial_values(session.evaluation.graph, *plan, parameters.data(), states.data(), cpu::kernel_set());
  ModelEvaluator evaluator(session.evaluation.graph, plan->parameters(), plan->states(), cpu::kernel_set(), options);
  const Evaluation e = evaluator.run(parameters.data(), states.data(), split.size(), feed.loader());

  const double rate = static_cast<double>(e.examples) / std::max(e.seconds, 1e-9);
  if (o.json) {
    nlohmann::json j = {
        {"examples", e.examples}, {"loss", e.loss}, {"seconds", e.seconds}, {"images_per_second", rate}};
    if (e.correct) j["accuracy"] = e.accuracy(), j["correct"] = *e.correct;
    add_class_counts(j, e, o.classes.top_k);
    fmt::print("{}\n", j.dump());
    return 0;
  }
  std::string accuracy = e.correct ? fmt::format("accuracy {:.2f} %  ", e.accuracy() * 100) : "";
  if (e.among_best) accuracy += fmt::format("top {} {:.2f} %  ", o.classes.top_k, e.top_k_accuracy() * 100);
  fmt::print("{}: {}loss {:.4f}  on {} examples of {} ({})  {} images/s\n", o.model.path, accuracy, e.loss,
             with_thousands(e.examples), o.data, o.split, with_thousands(static_cast<int64_t>(rate)));
  if (!e.confusion.empty()) fmt::print("\n{}", confusion_text(e.confusion));
  return 0;
}

}  // namespace

Run add_eval(CLI::App& app) {
  auto o = std::make_shared<EvalOptions>();
  CLI::App* command = app.add_subcommand("eval", "loss and accuracy of a model on a data set");
  add_model_argument(*command, o->model);
  command->add_option("--data", o->data, "fashion-mnist, mnist:DIR, a folder of IDX files, or an .npz file")
      ->required();
  command->add_option("--split", o->split, "which part of the data")
      ->check(CLI::IsMember({"test", "train"}))
      ->capture_default_str();
  command->add_option("--holdout", o->holdout, "part of the examples held out where the data have no test split")
      ->check(CLI::Range(0.001, 0.999))
      ->capture_default_str();
  command->add_option("--seed", o->seed, "chooses the examples held out")->capture_default_str();
  command->add_flag("!--no-normalise", o->normalise, "give the data as they are (bytes scaled to [0, 1])");
  add_loss_options(*command, o->model);
  add_class_options(*command, o->classes);
  command->add_flag("--json", o->json, "print one JSON object");
  command->footer(
      "Examples:\n  arbalest eval trained.onnx --data fashion-mnist\n"
      "  arbalest eval trained.onnx --data fashion-mnist --top-k 5 --confusion\n"
      "  arbalest eval trained.onnx --data photos.npz --split train --json");
  return [o] { return run_eval(*o); };
}

}  // namespace arbalest::tools
