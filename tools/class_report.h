// Top-k accuracy and confusion matrices: their options, and how they are told.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "sync/evaluator.h"

namespace arbalest::tools {

struct ClassArguments {
  int top_k = 0;
  bool confusion = false;
};

void add_class_options(CLI::App& command, ClassArguments& arguments);
void set_class_options(ModelEvaluator::Options& options, const ClassArguments& arguments);

// "top_k", "top_k_accuracy" and "confusion" (a row for each class of the labels) into `event`, as far as counted.
void add_class_counts(nlohmann::json& event, const Evaluation& evaluation, int top_k);
// For the terminal: the matrix, or of many classes the pairs that are confused most; "" where it was not counted.
std::string confusion_text(const std::vector<int64_t>& confusion);

}  // namespace arbalest::tools
