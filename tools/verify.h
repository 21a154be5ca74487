// What `arbalest verify` compares with: one file each. They print a table and give the exit code.
#pragma once

#include <string>

#include "tools/session.h"

namespace arbalest::tools {

struct VerifyArguments {
  ModelArguments model;
  std::string expected, case_folder;
  std::vector<std::string> test_data;
  int threads = 1;
  int learners = 1;
};

// A model whose initializers are the reference: tests/data/golden/README.md.
int verify_expected(const VerifyArguments& arguments);
// A folder with model.onnx, expected.onnx and case.json: tests/data/cases/README.md.
int verify_case(const VerifyArguments& arguments);

}  // namespace arbalest::tools
