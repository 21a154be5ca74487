// arbalest inspect: what a model is, what would train, and what a step costs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "exec/replica.h"
#include "graph/print.h"
#include "graph/segments.h"
#include "tools/command.h"
#include "tools/session.h"
#include "tools/table.h"
#include "tools/training_options.h"

namespace arbalest::tools {
namespace {

struct InspectOptions {
  ModelArguments model;
  TrainingArguments training;
  int64_t batch = 0;
  bool json = false, plan = false, graph = false, tasks = false, dot = false;
};

std::map<std::string, int> count_primitives(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const Node& n : graph.nodes) ++counts[name_of(n.primitive)];
  return counts;
}

nlohmann::json to_json(const Session& s, const Plan* plan, int64_t batch) {
  const ModelFacts f = facts(*s.model);
  nlohmann::json j = {{"producer", f.producer}, {"ir_version", f.ir_version},
                      {"opset", f.opset},       {"nodes", f.nodes},
                      {"notices", s.notices},   {"primitives", count_primitives(s.training.graph)}};
  for (const ParameterReport& p : s.training.parameters)
    j["parameters"].push_back({{"name", p.name},
                               {"type", name_of(p.type.dtype)},
                               {"shape", p.type.dims()},
                               {"use", name_of(p.use)},
                               {"trains", p.trains},
                               {"why", p.why}});
  if (!plan) return j;
  j["step"] = {{"batch", batch}, {"flops", plan->flops()}, {"steps", plan->steps().size()}};
  j["memory"] = {{"activations", plan->arena_bytes()},       {"parameters", plan->parameters()->bytes()},
                 {"gradients", plan->parameters()->bytes()}, {"optimiser", plan->parameters()->bytes()},
                 {"states", plan->states()->bytes()},        {"constants", plan->constant_bytes()}};
  for (const PlanStep& step : plan->steps())
    j["plan"].push_back({{"name", step.name},
                         {"origin", step.origin},
                         {"implementation", step.kernel.implementation},
                         {"layouts", step.layouts},
                         {"flops", step.kernel.flops}});
  return j;
}

void print_parameters(const Session& s) {
  Table table({"parameter", "shape", "type", "trains", "why"});
  for (const ParameterReport& p : s.training.parameters)
    table.add({p.name, to_string(p.type.shape), std::string(name_of(p.type.dtype)), p.trains ? "yes" : "no", p.why});
  fmt::print("\n{}", table.text());
}

void print_step(const Plan& plan, int64_t batch) {
  const double parameters = static_cast<double>(plan.parameters()->bytes());
  const double activations = static_cast<double>(plan.arena_bytes()),
               states = static_cast<double>(plan.states()->bytes());
  fmt::print("\nstep at batch {}: {}FLOP, {} steps\n", batch, short_count(plan.flops()), plan.steps().size());
  fmt::print(
      "memory of a replica: {} = activations {} + parameters {} + gradients {} + momentum {} + running statistics {}\n",
      short_bytes(activations + 3 * parameters + states), short_bytes(activations), short_bytes(parameters),
      short_bytes(parameters), short_bytes(parameters), short_bytes(states));
  fmt::print("shared by all replicas: constants {}\n", short_bytes(static_cast<double>(plan.constant_bytes())));
}

// The task graph of one iteration, made as `train` makes it.
void print_tasks(const InspectOptions& o, const Session& s, int64_t batch) {
  const Trainer trainer(s.training.graph, s.batch(batch), cpu::kernel_set(), trainer_options(o.training),
                        [](int, Replica&) {});
  if (o.dot) {
    fmt::print("{}", to_dot(trainer.tasks()));
  } else {
    fmt::print("\n{}\n{}", describe_training(o.training), to_text(trainer.tasks()));
  }
}

int run_inspect(const InspectOptions& o) {
  const Session s = open_session(o.model, {});
  const int64_t batch = o.batch ? o.batch : s.fixed_batch().value_or(16);
  CompileOptions compile_options;
  compile_options.threads = o.training.threads;
  if (o.dot) {
    print_tasks(o, s, batch);
    return 0;
  }
  const Graph& graph = s.training.graph;
  const auto plan =
      compile(graph, with_computed_sizes(graph, s.batch(batch), batch), cpu::kernel_set(), compile_options);
  if (o.json) {
    fmt::print("{}\n", to_json(s, plan.get(), batch).dump(1));
    return 0;
  }
  const ModelFacts f = facts(*s.model);
  double trained = 0, kept = 0;
  for (const ParameterReport& p : s.training.parameters)
    (p.trains ? trained : kept) += static_cast<double>(element_count(p.type.dims()));
  fmt::print("{}: {}{}opset {}, IR {}, {} nodes; {} parameters train, {} elements do not\n", o.model.path, f.producer,
             f.producer.empty() ? "" : ", ", f.opset, f.ir_version, f.nodes, short_count(trained), short_count(kept));
  for (const GraphInput& i : s.training.graph.inputs)
    if (i.role == InputRole::data) fmt::print("input   {}: {}\n", i.name, to_string(s.training.graph.at(i.value).type));
  for (const GraphOutput& out : s.training.graph.outputs)
    fmt::print("output  {}: {}\n", out.name, to_string(s.training.graph.at(out.value).type));
  for (const std::string& notice : s.notices) fmt::print("note    {}\n", notice);
  std::string primitives;
  for (const auto& [name, count] : count_primitives(s.training.graph))
    primitives += fmt::format("{}{} {}", primitives.empty() ? "" : ", ", name, count);
  fmt::print("graph   {}\n", primitives);
  print_parameters(s);
  print_step(*plan, batch);
  for (const SegmentEnd& end : graph.segment_ends)
    fmt::print("only the data tell {}, given by {}; {} is taken here\n", fmt::join(end.sizes, ", "), end.origin, batch);
  if (o.graph) fmt::print("\n{}", to_text(s.training.graph));
  if (o.plan) fmt::print("\n{}", to_text(*plan));
  if (o.tasks) print_tasks(o, s, batch);
  return 0;
}

}  // namespace

Run add_inspect(CLI::App& app) {
  auto o = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand("inspect", "show operators, what trains and why, and what a step costs");
  add_model_argument(*command, o->model);
  add_loss_options(*command, o->model);
  add_selection_options(*command, o->model);
  add_edit_options(*command, o->model);
  command->add_option("--batch", o->batch, "examples in a step (default: the file's, else 16)")
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", o->json, "everything as JSON");
  command->add_flag("--plan", o->plan, "list the plan's steps with implementation and layouts");
  command->add_flag("--graph", o->graph, "print the graph");
  command->add_flag("--tasks", o->tasks, "list an iteration's tasks, what orders them, and each stream's program");
  command->add_flag("--dot", o->dot, "print only the tasks, as a drawing for Graphviz (dot -Tsvg)");
  command->add_option("--learners", o->training.learners, "learners of the tasks")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_learner_options(*command, o->training);
  command->footer(
      "Examples:\n  arbalest inspect resnet.onnx\n  arbalest inspect resnet.onnx --batch 64 --plan\n"
      "  arbalest inspect resnet.onnx --json > resnet.json\n"
      "  arbalest inspect resnet.onnx --tasks --sync sma --learners 2\n"
      "  arbalest inspect resnet.onnx --dot --sync local --learners 4 | dot -Tsvg > tasks.svg");
  return [o] { return run_inspect(*o); };
}

}  // namespace arbalest::tools
