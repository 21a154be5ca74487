// The training that a case describes, and what its numbers are compared with.
#pragma once

#include <optional>

#include "tools/case_file.h"

namespace arbalest::tools {

// The model with the statistics, the Dropout and the weights of the file.
Imported import_as_file_stands(const ModelFile& model, const ReferenceBatch& batch);

// Exactly the tensors of the case train, and the user is told of those that do not. Adds a line for what is wrong.
void check_trainable(const CaseFile& file, const std::vector<ParameterReport>& reports,
                     const std::vector<std::string>& notices, std::vector<std::string>& complaints);

class CaseTraining {
 public:
  CaseTraining(const CaseFile& file, int threads);

  const Session& session() const { return session_; }
  void run();  // all steps
  Tensors trained() { return training_->trained(); }
  const std::vector<Comparison>& comparisons() const { return comparisons_; }

 private:
  void compare_outputs();
  void compare_input_gradients();
  void compare_straight_through();
  void compare_retied();
  void compare_untied();

  const CaseFile& file_;
  const int threads_;
  const ReferenceBatch batch_;
  Session session_;
  std::unique_ptr<RepeatedBatch> training_;
  std::vector<Comparison> comparisons_;
};

}  // namespace arbalest::tools
