// The fuzzer's corpus in the ordinary tests: every file once as it is, and with some of the fuzzer's changes. What it
// found once is in the corpus, reduced.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/onnx_import/fuzz/model_reader.h"

namespace arbalest {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kChanges = 8;  // of each file

std::vector<fs::path> models() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(ARBALEST_TEST_DATA) / "../onnx_import/fuzz/corpus"))
    paths.push_back(entry);
  for (const auto& entry : fs::directory_iterator(fs::path(ARBALEST_TEST_DATA) / "cases"))
    if (entry.is_directory()) paths.push_back(entry.path() / "model.onnx");
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string content(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(Fuzz, NoModelOfTheCorpusFails) {
  for (const fs::path& path : models()) EXPECT_NO_THROW(read_as_model(content(path))) << path;
}

TEST(Fuzz, NoChangedModelFails) {
  for (const fs::path& path : models()) {
    const std::string bytes = content(path);
    for (uint32_t seed = 1; seed <= kChanges; ++seed)
      EXPECT_NO_THROW(read_as_model(mutated_model(bytes, seed))) << path << ", seed " << seed;
  }
}

}  // namespace
}  // namespace arbalest
