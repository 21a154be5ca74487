#include "tools/case_training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/differentiate.h"
#include "tools/mentions.h"
#include "tools/open_sizes.h"

namespace arbalest::tools {

Imported import_as_file_stands(const ModelFile& model, const ReferenceBatch& batch) {
  ImportOptions options;
  options.batch_norm = BatchNormPolicy::file;
  const DeclaredInputs declared = declared_inputs(model, options);
  options.bindings = sizes_of(declared, batch.feeds);
  options.bindings.erase(declared.batch_symbol);
  return import_model(model, options);
}

void check_trainable(const CaseFile& file, const std::vector<ParameterReport>& reports,
                     const std::vector<std::string>& notices, std::vector<std::string>& complaints) {
  std::set<std::string> trained, listed;
  for (const ParameterReport& r : reports) {
    listed.insert(r.name);
    if (r.trains) trained.insert(r.name);
  }
  const std::set<std::string> wanted = file.trainable();
  if (trained != wanted)
    complaints.push_back(fmt::format("{} train; expected {}", fmt::join(trained, ", "), fmt::join(wanted, ", ")));
  const std::string said = fmt::format("{}", fmt::join(notices, "\n"));
  const Tensors initializers = read_initializers(*load_model(file.model_path()));  // others are Constants
  for (const std::string& name : file.not_trainable())
    if (initializers.contains(name) && !listed.contains(name) && !mentions(said, name))
      complaints.push_back(fmt::format("nothing says why '{}' does not train", name));
}

CaseTraining::CaseTraining(const CaseFile& file, int threads)
    : file_(file), threads_(threads), batch_(file.batch()), session_(open_session(file.arguments(), facts_of(batch_))) {
  for (const auto& [name, value] : file.tensors("new/")) session_.set_initial(name, value);
  const Bindings bindings = bindings_of(session_.training.graph, batch_.feeds);
  for (std::string& n : gradient_notices(session_, bindings)) session_.notices.push_back(std::move(n));
  training_ = std::make_unique<RepeatedBatch>(session_, batch_, file.trainer_options(threads));
}

void CaseTraining::run() {
  compare_outputs();
  const HostTensor* losses = file_.tensor("losses");
  const int64_t steps = losses ? losses->element_count() : 1;
  std::vector<double> got;
  Comparison loss = file_.comparison("loss"), gradients = file_.comparison("grad");
  while (static_cast<int64_t>(got.size()) < steps) {
    got.push_back(training_->step());
    if (got.size() > 1) continue;
    if (const HostTensor* expected = file_.tensor("loss")) loss.add("loss", scalar(got[0]), *expected);
    gradients.add_all(training_->gradients(), file_.tensors("grad/"));
  }
  comparisons_.insert(comparisons_.end(), {loss, gradients});
  Comparison all = file_.comparison("losses"), after = file_.comparison("after");
  if (losses) all.add("losses", list_of(got), *losses);
  after.add_all(training_->trained(), file_.tensors("after/"));
  comparisons_.insert(comparisons_.end(), {all, after});
  compare_input_gradients();
  compare_straight_through();
  compare_retied();
  compare_untied();
}

void CaseTraining::compare_outputs() {
  const Imported imported = import_as_file_stands(*load_model(file_.model_path()), batch_);
  comparisons_.push_back(file_.comparison("output"));
  comparisons_.back().add_all(run_once(imported.graph, {batch_.feeds, {}}, threads_), file_.tensors("output/"));
}

void CaseTraining::compare_input_gradients() {
  const Tensors wanted = file_.tensors("grad_input/");
  if (wanted.empty()) return;
  Graph graph = session_.training.graph;
  if (graph.segment_ends.empty()) arbalest::bind(graph, bindings_of(graph, batch_));
  std::vector<ValueId> inputs;
  for (const auto& [name, value] : wanted)
    if (const GraphInput* input = graph.find_input(name)) inputs.push_back(input->value);
  const std::vector<ValueId> gradients = gradients_of(graph, graph.loss, inputs);
  graph.outputs.clear();
  size_t next = 0;
  for (const auto& [name, value] : wanted) {
    if (!graph.find_input(name)) continue;
    if (const ValueId gradient = gradients[next++]) graph.outputs.push_back({gradient, name});
  }
  comparisons_.push_back(file_.comparison("grad_input"));
  comparisons_.back().add_all(run_once(graph, batch_, threads_), wanted);
}

void CaseTraining::compare_straight_through() {
  const Tensors wanted = file_.tensors("grad_ste/");
  if (wanted.empty()) return;
  ModelArguments arguments = file_.arguments();
  arguments.straight_through = true;
  const Session session = open_session(arguments, facts_of(batch_));
  RepeatedBatch training(session, batch_, file_.trainer_options(threads_));
  training.step();
  comparisons_.push_back(file_.comparison("grad_ste"));
  comparisons_.back().add_all(training.gradients(), wanted);
}

void CaseTraining::compare_retied() {
  const Tensors wanted = file_.tensors("grad_retied/");
  if (wanted.size() != 2) return;
  ModelArguments arguments = file_.arguments();
  arguments.ties.push_back(wanted.begin()->first + "=" + std::next(wanted.begin())->first);
  const Session session = open_session(arguments, facts_of(batch_));
  RepeatedBatch training(session, batch_, file_.trainer_options(threads_));
  training.step();
  comparisons_.push_back(file_.comparison("grad_retied"));
  comparisons_.back().add_all(session.completed(training.gradients()), wanted);
}

// A tensor that two layers share is named ones/ln2 in the second, where it is a copy, and ones in the first.
void CaseTraining::compare_untied() {
  const HostTensor* losses = file_.tensor("losses_untied");
  if (!losses) return;
  ModelArguments arguments = file_.arguments();
  arguments.keep_shared = false;
  const Session session = open_session(arguments, facts_of(batch_));
  RepeatedBatch training(session, batch_, file_.trainer_options(threads_));
  const auto renamed = [](const Tensors& of_uses, const Tensors& got) {
    Tensors tensors;
    for (const auto& [name, value] : of_uses)
      tensors.emplace(got.contains(name) ? name : name.substr(0, name.find('/')), value);
    return tensors;
  };
  std::vector<double> got;
  Comparison gradients = file_.comparison("grad_of_use"), all = file_.comparison("losses_untied"),
             after = file_.comparison("after_of_use");
  while (static_cast<int64_t>(got.size()) < losses->element_count()) {
    got.push_back(training.step());
    const Tensors computed = training.gradients();
    if (got.size() == 1) gradients.add_all(computed, renamed(file_.tensors("grad_of_use/"), computed));
  }
  all.add("losses", list_of(got), *losses);
  const Tensors trained = training.trained();
  after.add_all(trained, renamed(file_.tensors("after_of_use/"), trained));
  comparisons_.insert(comparisons_.end(), {gradients, all, after});
}

}  // namespace arbalest::tools
