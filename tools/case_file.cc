#include "tools/case_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace arbalest::tools {
namespace {

using nlohmann::json;

json read_description(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::io, "{}: cannot be opened", path);
  json description = json::parse(file, nullptr, false);
  if (!description.is_object()) throw Error(ErrorKind::model, "{}: not a JSON object", path);
  return description;
}

// The program's word for a loss of the cases: there, `output` is the sum.
std::string loss_kind(const std::string& name) { return name == "output" ? "sum" : name; }

void add_batch_norm(const json& option, ModelArguments& arguments) {
  if (option.is_string()) arguments.batch_norm.push_back(option);
  if (!option.is_object()) return;
  for (const auto& [node, policy] : option.items())
    arguments.batch_norm.push_back(node + "=" + policy.get<std::string>());
}

}  // namespace

CaseFile::CaseFile(const std::string& folder)
    : folder_(folder),
      name_(std::filesystem::path(folder + "/.").parent_path().filename().string()),
      description_(read_description(folder + "/case.json")) {
  const std::string expected = folder + "/expected.onnx";
  if (std::filesystem::exists(expected)) expected_ = read_initializers(*load_model(expected));
}

std::vector<std::string> CaseFile::list(const char* key) const {
  return description_.value(key, std::vector<std::string>());
}

std::set<std::string> CaseFile::trainable() const { return description_.value("trainable", std::set<std::string>()); }

std::vector<std::string> CaseFile::not_trainable() const {
  std::vector<std::string> names;
  const json reasons = description_.value("not_trainable", json::object());
  for (const auto& [name, reason] : reasons.items()) names.push_back(name);
  return names;
}

std::string CaseFile::loss() const {
  const std::string loss = description_.value("loss", "none");
  return loss == "none" ? description_.value("loss_asked", "none") : loss;
}

ModelArguments CaseFile::arguments() const {
  ModelArguments a;
  a.path = model_path();
  a.keep_shared = true;
  a.output = description_.value("loss_output", "");
  if (loss() == "several") {
    for (const json& term : description_.at("losses"))
      a.losses.push_back(fmt::format("{}={}*{}", term.at("output").get<std::string>(), loss_kind(term.at("loss")),
                                     term.value("weight", 1.0)));
  } else if (loss() != "none") {
    a.losses.push_back(loss_kind(loss()));
  }
  if (description_.contains("ignore_index")) a.ignore_index = description_["ignore_index"].get<int64_t>();
  if (const HostTensor* weights = tensor("class_weights")) {
    const HostTensor values = weights->to_f32();
    a.class_weights.assign(values.as<float>().begin(), values.as<float>().end());
  }
  a.train = list("select");
  for (const std::string& pattern : list("select_nodes")) a.train.push_back(pattern);
  a.freeze = list("freeze");
  const json options = description_.value("options", json::object());
  if (options.contains("replace_head"))
    a.heads.push_back(
        fmt::format("{}={}", options["replace_head"].value("node", ""), options["replace_head"].value("classes", 0)));
  if (options.contains("bn")) add_batch_norm(options["bn"], a);
  a.dropout = options.value("dropout", "off") == "on";
  const json masks = options.value("freeze_mask", json::object());
  for (const auto& [name, mask] : masks.items())
    if (const HostTensor* values = tensor(mask)) a.masks[name] = std::make_shared<const HostTensor>(*values);
  return a;
}

TrainerOptions CaseFile::trainer_options(int threads) const {
  TrainerOptions o;
  o.threads_per_learner = threads;
  o.learning_rate = 0.01;
  o.accumulate = description_.value("options", json::object()).value("accumulate", 1);
  return o;
}

ReferenceBatch CaseFile::batch() const {
  ReferenceBatch batch{tensors("feed/"), {}};
  if (const HostTensor* label = tensor("label")) batch.labels.push_back(*label);
  const json terms = description_.value("losses", json::array());
  for (const json& term : terms)
    if (const HostTensor* label = tensor("label/" + term.value("output", ""))) batch.labels.push_back(*label);
  return batch;
}

Comparison CaseFile::comparison(const std::string& quantity) const {
  return {quantity, {false, description_.value("rtol", 1e-4), description_.value("atol", 1e-5)}};
}

const HostTensor* CaseFile::tensor(const std::string& name) const {
  const auto found = expected_.find(name);
  return found == expected_.end() ? nullptr : &found->second;
}

}  // namespace arbalest::tools
