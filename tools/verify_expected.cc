#include <algorithm>
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

}  // namespace

int verify_expected(const VerifyArguments& a) {
  const Reference reference = read_reference(a.expected);
  ReferenceBatch batch{with_prefix(reference.tensors, "feed/"), {}};
  if (reference.tensors.contains("label")) batch.labels.push_back(reference.tensors.at("label"));
  const Session session = open_session(model_arguments(a, reference.meta), facts_of(batch));
  TrainerOptions options;
  options.threads_per_learner = a.threads;
  options.learning_rate = reference.meta.value("lr", 0.01);
  options.optimiser.momentum = reference.meta.value("momentum", 0.0);
  RepeatedBatch training(session, batch, options);

  const Tensors outputs = with_prefix(reference.tensors, "output/"),
                gradients = with_prefix(reference.tensors, "grad/"), after = with_prefix(reference.tensors, "after/");
  Comparison output = comparison(reference, "output", 1e-5), loss = comparison(reference, "loss", 1e-5),
             gradient = comparison(reference, "grad", 1e-4), losses = comparison(reference, "losses", 1e-5),
             weights = comparison(reference, "after", 2e-4);
  output.set_floor(outputs);
  gradient.set_floor(gradients);
  weights.set_floor(after);

  const HostTensor& expected_losses = reference.tensors.at("losses");
  std::vector<double> got;
  while (static_cast<int64_t>(got.size()) < expected_losses.element_count()) {
    got.push_back(training.step());
    if (got.size() > 1) continue;
    loss.add("loss", scalar(got[0]), reference.tensors.at("loss"));
    output.add_all(training.outputs(), outputs);
    const Tensors computed = training.gradients();
    gradient.add_all(computed, gradients);
    for (const auto& [name, value] : computed)
      if (!gradients.contains(name)) gradient.fail(name, "trains here, but not in the reference");
  }
  losses.add("losses", list_of(got), expected_losses);
  weights.add_all(training.trained(), after);
  return report({output, loss, gradient, losses, weights}) ? 0 : 1;
}

}  // namespace arbalest::tools
