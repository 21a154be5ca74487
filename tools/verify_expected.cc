#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/repeated_batch.h"
#include "tools/verify.h"

namespace arbalest::tools {
namespace {

struct Reference {
  Tensors tensors;
  nlohmann::json meta;
};

Reference read_reference(const std::string& path) {
  const ModelPtr file = load_model(path);
  Reference r{read_initializers(*file), nlohmann::json::object()};
  const nlohmann::json meta = nlohmann::json::parse(facts(*file).doc_string, nullptr, false);
  if (meta.is_object()) r.meta = meta;
  for (const char* name : {"loss", "losses"})
    if (!r.tensors.contains(name)) throw Error(ErrorKind::model, "{}: has no tensor '{}'", path, name);
  return r;
}

// The README of the golden models: the larger of a base and 20 times what float32 runs of the reference were off.
Comparison comparison(const Reference& r, const std::string& quantity, double base) {
  const auto errors = r.meta.find("float32_error");
  if (errors != r.meta.end() && errors->contains(quantity))
    base = std::max(base, 20 * errors->at(quantity).get<double>());
  return {quantity, {.relative = base}};
}

ModelArguments model_arguments(const VerifyArguments& a, const nlohmann::json& meta) {
  ModelArguments model = a.model;
  model.keep_shared = true;  // the reference trains the file as it stands
  if (model.losses.empty()) model.losses = {meta.value("loss", "auto")};
  if (model.output.empty()) model.output = meta.value("target", "");
  if (!model.class_axis && meta.contains("class_axis") && meta["class_axis"].is_number())
    model.class_axis = meta["class_axis"].get<int>();
  return model;
}

bool has(const Graph& graph, bool (*is_one)(const Primitive&)) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return is_one(n.primitive); });
}

// Why learners that share the batch do not take the same steps as one that has it all; "" if they do.
std::string why_not_shared(const Session& session, const ReferenceBatch& batch, int learners) {
  const Graph& graph = session.training.graph;
  const std::string& symbol = session.batch_symbol();
  if (symbol.empty()) return "the model fixes its batch";
  if (has(graph, [](const Primitive& p) { return std::holds_alternative<BatchNorm>(p); }))
    return "BatchNormalization takes its statistics from the batch";
  if (has(graph, [](const Primitive& p) { return std::holds_alternative<RandomUniform>(p); }))
    return "the model draws random numbers";
  const Bindings bindings = bindings_of(graph, batch.feeds);
  const auto size = bindings.find(symbol);
  if (size == bindings.end() || size->second % learners != 0)
    return fmt::format("a batch of {} is not shared evenly", size == bindings.end() ? 0 : size->second);
  for (const GraphInput& input : graph.inputs) {
    std::vector<std::string> symbols;
    const Shape& shape = graph.at(input.value).type.shape;
    for (const Dim& d : shape) d.add_symbols(symbols);
    const bool has_batch = std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
    if (has_batch && !batch_axis(shape, symbol))
      return fmt::format("'{}' ({}) has the batch inside another axis", input.name, to_string(shape));
  }
  return "";
}

// Not so where the model itself mixes the examples of a batch, or computes a loss of its own that is no mean.
bool is_mean_of_examples(double mean, double whole) { return std::abs(mean - whole) <= 1e-4 * std::abs(whole); }

int not_applicable(int learners, const std::string& why) {
  fmt::print("not applicable with {} learners: {}\n", learners, why);
  return 0;
}

}  // namespace

int verify_expected(const VerifyArguments& a) {
  const Reference reference = read_reference(a.expected);
  ReferenceBatch batch{with_prefix(reference.tensors, "feed/"), {}};
  if (reference.tensors.contains("label")) batch.labels.push_back(reference.tensors.at("label"));
  const Session session = open_session(model_arguments(a, reference.meta), facts_of(batch));
  if (const std::string why = a.learners > 1 ? why_not_shared(session, batch, a.learners) : ""; !why.empty())
    return not_applicable(a.learners, why);
  TrainerOptions options;
  options.learners = a.learners;
  if (a.learners > 1) options.sync = SyncKind::ssgd;
  options.threads_per_learner = a.threads;
  options.learning_rate = reference.meta.value("lr", 0.01);
  options.optimiser.momentum = reference.meta.value("momentum", 0.0);
  const Tensors outputs = with_prefix(reference.tensors, "output/"),
                gradients = with_prefix(reference.tensors, "grad/"), after = with_prefix(reference.tensors, "after/");
  Comparison output = comparison(reference, "output", 1e-5), loss = comparison(reference, "loss", 1e-5),
             gradient = comparison(reference, "grad", 1e-4), losses = comparison(reference, "losses", 1e-5),
             weights = comparison(reference, "after", 2e-4);
  output.set_floor(outputs);
  gradient.set_floor(gradients);
  weights.set_floor(after);

  std::unique_ptr<RepeatedBatch> training;
  std::vector<double> got;
  try {
    training = std::make_unique<RepeatedBatch>(session, batch, options);
    got.push_back(training->step());
  } catch (const Error& e) {  // constant indices into the batch, for example
    if (a.learners == 1) throw;
    return not_applicable(a.learners, fmt::format("a part of the batch cannot be run alone: {}", e.what()));
  }
  const HostTensor& expected_loss = reference.tensors.at("loss");
  const double whole = expected_loss.to(DataType::f64).as<double>()[0];
  if (a.learners > 1 && !is_mean_of_examples(got[0], whole))
    return not_applicable(
        a.learners, fmt::format("the parts of the batch have a mean loss of {}, the whole one of {}", got[0], whole));
  loss.add("loss", scalar(got[0]), expected_loss);
  if (a.learners == 1) output.add_all(training->outputs(), outputs);
  const Tensors computed = training->gradients();
  gradient.add_all(computed, gradients);
  for (const auto& [name, value] : computed)
    if (!gradients.contains(name)) gradient.fail(name, "trains here, but not in the reference");
  const HostTensor& expected_losses = reference.tensors.at("losses");
  while (static_cast<int64_t>(got.size()) < expected_losses.element_count()) got.push_back(training->step());
  losses.add("losses", list_of(got), expected_losses);
  weights.add_all(training->trained(), after);
  return report({output, loss, gradient, losses, weights}) ? 0 : 1;
}

}  // namespace arbalest::tools
