// arbalest verify: does the program compute what a reference computed?
#include "tools/verify.h"

#include <memory>

#include "tools/command.h"
#include "tools/test_data.h"

namespace arbalest::tools {
namespace {

int run_verify(const VerifyArguments& a) {
  const int references = !a.expected.empty() + !a.test_data.empty() + !a.case_folder.empty();
  if (references != 1 || a.model.path.empty() != !a.case_folder.empty())
    throw Error(ErrorKind::usage,
                "verify: give MODEL --expected FILE.onnx, or MODEL --test-data DIR, or only --case DIR");
  if (a.learners > 1 && a.expected.empty()) throw Error(ErrorKind::usage, "verify: --learners needs --expected");
  if (!a.case_folder.empty()) return verify_case(a);
  return a.expected.empty() ? verify_test_data(a.model.path, a.test_data, a.threads) : verify_expected(a);
}

}  // namespace

Run add_verify(CLI::App& app) {
  auto a = std::make_shared<VerifyArguments>();
  CLI::App* command =
      app.add_subcommand("verify", "compare outputs, gradients, losses and trained weights with a reference");
  command->add_option("model", a->model.path, "ONNX file")->option_text("MODEL");
  add_size_option(*command, a->model);
  add_loss_options(*command, a->model);
  command->add_option(
      "--expected", a->expected,
      "a model whose initializers are feed/INPUT, label, output/OUTPUT, loss, grad/NAME, losses, after/NAME");
  command->add_option("--test-data", a->test_data, "folders with input_N.pb and output_N.pb, as ONNX's own tests have")
      ->option_text("DIR ...");
  command->add_option("--case", a->case_folder,
                      "a folder with model.onnx, expected.onnx and case.json, which says what must happen");
  command->add_option("--threads-per-learner", a->threads, "threads of the plan")->check(CLI::PositiveNumber);
  command
      ->add_option(
          "--learners", a->learners,
          "--expected: learners that take equal parts of the batch and step together (ssgd), where that is the "
          "same;\nwhere it is not, says why")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->footer(
      "Prints the greatest error of each quantity; exits with 1 where one is beyond its tolerance.\nExamples:\n"
      "  arbalest verify model.onnx --expected expected.onnx\n  arbalest verify model.onnx --test-data "
      "test_data_set_0\n  arbalest verify --case tests/data/cases/softmax_end");
  return [a] { return run_verify(*a); };
}

}  // namespace arbalest::tools
