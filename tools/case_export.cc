#include "tools/case_export.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "onnx_import/edits/model_edits.h"
#include "onnx_import/exporter.h"
#include "tools/temporary_folder.h"

namespace arbalest::tools {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Tensors initial_values(const Graph& graph) {
  Tensors values;
  for (const GraphInput& input : graph.inputs)
    if (input.initial) values.emplace(input.name, *input.initial);
  return values;
}

// The file with its old values written over the new ones must be the old file again: nothing else has changed.
void check_places(const CaseFile& file, const Session& session, const std::string& exported,
                  const std::string& restored, std::vector<std::string>& complaints) {
  if (!file.arguments().heads.empty()) return;  // another model
  for (const ParameterReport& p : session.training.parameters)
    if (p.trains && p.type.dtype == DataType::f64) return;  // the masters are float32
  if (std::filesystem::exists(exported + ".data")) return;  // the name of the data file differs
  for (const std::string& notice : session.notices)
    if (notice.find("sparse") != std::string::npos) return;  // written dense
  Tensors old = initial_values(session.training.graph);
  export_model(*load_model(exported), session.completed(std::move(old)), restored);
  if (bytes_of(restored) != bytes_of(file.model_path()))
    complaints.push_back("the written file differs from the model in more than its weights");
}

void check_inference_form(const CaseFile& file, const Session& session, const Tensors& trained, const std::string& path,
                          std::vector<std::string>& complaints) {
  const Tensors outputs = file.tensors("inference_output/");
  if (outputs.empty()) return;
  export_model(*in_inference_form(session.model), trained, path);
  const Imported imported = import_as_file_stands(*load_model(path), file.batch());
  std::vector<Comparison> comparisons{file.comparison("inference")};
  comparisons[0].add_all(run_once(imported.graph, {file.batch().feeds, {}}, 1), outputs);
  if (!report(comparisons)) complaints.push_back("the inference form computes something else");
}

}  // namespace

void check_export(const CaseFile& file, CaseTraining& training, std::vector<std::string>& complaints) {
  const TemporaryFolder folder;
  const std::string exported = folder / "trained.onnx";
  const Session& session = training.session();
  const Tensors trained = training.trained();
  export_model(*session.model, trained, exported);

  const ModelPtr written = load_model(exported);
  const Tensors before = read_initializers(*session.model), after = read_initializers(*written);
  for (const auto& [name, value] : before) {
    const auto found = after.find(name);
    if (found == after.end()) {
      complaints.push_back(fmt::format("'{}' is not in the written file", name));
    } else if (!trained.contains(name) && found->second != value) {
      complaints.push_back(fmt::format("'{}' does not train, but changed in the written file", name));
    }
  }
  ModelArguments arguments = file.arguments();
  arguments.masks.clear();
  arguments.heads.clear();
  const Session again = open_session(written, arguments, facts_of(file.batch()));
  std::vector<Comparison> comparisons{file.comparison("written")};
  comparisons[0].add_all(initial_values(again.training.graph), file.tensors("after/"));
  if (!report(comparisons)) complaints.push_back("the written values are not those after training");
  check_inference_form(file, session, trained, folder / "inference.onnx", complaints);
  check_places(file, session, exported, folder / "restored.onnx", complaints);
}

void check_export(const CaseFile& file, const AlgorithmRun& run, std::vector<std::string>& complaints) {
  const TemporaryFolder folder;
  const std::string exported = folder / "trained.onnx";
  export_model(*load_model(file.model_path()), run.tensors(), exported);
  std::vector<Comparison> comparisons{file.comparison("written")};
  comparisons[0].add_all(read_training_info(load_model(exported)).tensors, file.tensors("after/"));
  if (!report(comparisons)) complaints.push_back("the written values are not those after training");
}

}  // namespace arbalest::tools
