#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/case_export.h"
#include "tools/case_file.h"
#include "tools/case_training.h"
#include "tools/mentions.h"
#include "tools/verify.h"

namespace arbalest::tools {
namespace {

// What went wrong: lines for the user. Empty: the program behaves as the case demands.
using Complaints = std::vector<std::string>;

void check_words(const std::string& text, const std::vector<std::string>& words, Complaints& complaints) {
  for (const std::string& w : words)
    if (!mentions(text, w)) complaints.push_back(fmt::format("'{}' is not mentioned in: {}", w, text));
}

// Runs the training of a case that must be refused, or that has nothing to train; gives all that the user is told.
std::string told_by_training(const CaseFile& file, int threads, bool& refused) {
  std::string text;
  refused = false;
  try {
    if (file.uses_training_info()) {
      AlgorithmRun(load_model(file.model_path()), file.batch().feeds, threads).step();
      return text;
    }
    CaseTraining training(file, threads);
    for (const std::string& notice : training.session().notices) text += notice + "\n";
    training.run();
  } catch (const Error& e) {
    refused = true;
    text += e.what();
  }
  return text;
}

void check_error(const CaseFile& file, int threads, Complaints& complaints) {
  bool refused = false;
  const std::string text = told_by_training(file, threads, refused);
  fmt::print("{}\n", text);
  if (!refused) complaints.push_back("nothing was refused");
  check_words(text, file.error_mentions(), complaints);
}

void check_report(const CaseFile& file, int threads, Complaints& complaints) {
  const ModelPtr model = load_model(file.model_path());
  const Imported as_file = import_as_file_stands(*model, file.batch());
  std::vector<Comparison> comparisons{file.comparison("output")};
  comparisons[0].add_all(run_once(as_file.graph, {file.batch().feeds, {}}, threads), file.tensors("output/"));
  if (!report(comparisons)) complaints.push_back("numbers differ");
  if (!file.asks_for_training()) return;
  check_trainable(file, as_file.parameters, as_file.notices, complaints);
  bool refused = false;
  const std::string text = told_by_training(file, threads, refused);
  fmt::print("{}\n", text);
  if (!refused) complaints.push_back("a training with nothing to train was not refused");
  check_words(text, file.error_mentions(), complaints);
}

void check_training(const CaseFile& file, int threads, Complaints& complaints) {
  CaseTraining training(file, threads);
  check_trainable(file, training.session().training.parameters, training.session().notices, complaints);
  for (const std::string& notice : training.session().notices) fmt::print("note    {}\n", notice);
  training.run();
  if (!report(training.comparisons())) complaints.push_back("numbers differ");
  check_export(file, training, complaints);
}

// The training that the model's training_info describes.
void check_algorithm(const CaseFile& file, int threads, Complaints& complaints) {
  const ModelPtr model = load_model(file.model_path());
  const Tensors feeds = file.batch().feeds;
  std::vector<Comparison> comparisons{file.comparison("output"), file.comparison("losses"), file.comparison("after"),
                                      file.comparison("initialized")};
  const Imported as_file = import_as_file_stands(*model, file.batch());
  comparisons[0].add_all(run_once(as_file.graph, {feeds, {}}, threads), file.tensors("output/"));

  const auto run_losses = [&](AlgorithmRun& run, const char* name, size_t of_algorithm) {
    const HostTensor* expected = file.tensor(name);
    std::vector<double> losses;
    while (expected && static_cast<int64_t>(losses.size()) < expected->element_count())
      losses.push_back(run.step().at(of_algorithm));
    if (expected) comparisons[1].add(name, list_of(losses), *expected);
  };
  AlgorithmRun run(model, feeds, threads);
  run_losses(run, "losses", 0);
  comparisons[2].add_all(run.tensors(), file.tensors("after/"));
  AlgorithmRun second(model, feeds, threads);
  run_losses(second, "losses_second", 1);
  AlgorithmRun initialized(model, feeds, threads);
  initialized.initialize();
  comparisons[3].add_all(initialized.tensors(), file.tensors("initialized/"));
  run_losses(initialized, "losses_from_initialized", 0);
  if (!report(comparisons)) complaints.push_back("numbers differ");

  std::set<std::string> expected = file.trainable(), assigned;
  for (const std::string& name : file.state()) expected.insert(name);
  for (const auto& [name, value] : run.tensors()) assigned.insert(name);
  if (assigned != expected)
    complaints.push_back(
        fmt::format("{} are updated; expected {}", fmt::join(assigned, ", "), fmt::join(expected, ", ")));
  check_export(file, run, complaints);
}

Complaints check(const CaseFile& file, int threads) {
  Complaints complaints;
  const std::string expect = file.expect();
  if (expect == "error") {
    check_error(file, threads, complaints);
  } else if (expect == "report") {
    check_report(file, threads, complaints);
  } else if (file.uses_training_info()) {
    check_algorithm(file, threads, complaints);
  } else if (!file.may_be_refused()) {
    check_training(file, threads, complaints);
  } else {
    try {
      check_training(file, threads, complaints);
    } catch (const Error& e) {
      fmt::print("refused, as it may be: {}\n", e.what());
      check_words(e.what(), file.words_if_refused(), complaints);
    }
  }
  return complaints;
}

}  // namespace

int verify_case(const VerifyArguments& a) {
  const CaseFile file(a.case_folder);
  fmt::print("{}: {}\n", file.name(), file.title());
  const Complaints complaints = check(file, a.threads);
  for (const std::string& c : complaints) fmt::print("FAILS   {}\n", c);
  return complaints.empty() ? 0 : 1;
}

}  // namespace arbalest::tools
