// A folder of one case: model.onnx, case.json, which says what must happen, and expected.onnx with the numbers. The
// format: tests/data/cases/README.md.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tools/comparison.h"
#include "tools/repeated_batch.h"
#include "tools/training_options.h"

namespace arbalest::tools {

class CaseFile {
 public:
  explicit CaseFile(const std::string& folder);  // io or model error when its files cannot be read

  const std::string& name() const { return name_; }
  std::string title() const { return description_.value("title", ""); }
  std::string expect() const { return description_.value("expect", "train"); }
  bool may_be_refused() const { return description_.value("minimum", "") == "error"; }
  std::vector<std::string> error_mentions() const { return list("error_mentions"); }
  std::vector<std::string> words_if_refused() const { return list("error_mentions_if_refused"); }
  bool uses_training_info() const { return description_.value("use_training_info", false); }
  std::set<std::string> trainable() const;
  std::vector<std::string> state() const { return list("state"); }
  std::vector<std::string> not_trainable() const;
  // Whether a loss is known: that of the case, or the one that a user asked for.
  bool asks_for_training() const { return loss() != "none"; }

  std::string model_path() const { return folder_ + "/model.onnx"; }
  ModelArguments arguments() const;
  TrainerOptions trainer_options(int threads) const;
  ReferenceBatch batch() const;
  Comparison comparison(const std::string& quantity) const;
  Tensors tensors(const std::string& prefix) const { return with_prefix(expected_, prefix); }
  const HostTensor* tensor(const std::string& name) const;

 private:
  std::string loss() const;
  std::vector<std::string> list(const char* key) const;

  std::string folder_, name_;
  nlohmann::json description_;
  Tensors expected_;
};

}  // namespace arbalest::tools
