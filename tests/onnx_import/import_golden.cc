// The golden models through the importer: exactly the tensors that their expected.onnx lists must train.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "graph/print.h"
#include "models/models.h"
#include "onnx_import/importer.h"
#include "tests/onnx_import/fixtures.h"

namespace arbalest {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

Imported import_golden(const std::string& name) {
  return import_model(*load_model((kData / "golden" / name / "model.onnx").string()), {});
}

constexpr int kModels = 37;

TEST(ImportGolden, FindsWhatTrains) {
  int models = 0;
  for (const auto& folder : fs::directory_iterator(kData / "golden")) {
    if (!folder.is_directory()) continue;
    const std::string name = folder.path().filename().string();
    const ModelPtr expected = load_model((folder.path() / "expected.onnx").string());
    const auto facts = nlohmann::json::parse(arbalest::facts(*expected).doc_string);
    Names trained;
    for (const ParameterReport& r : import_golden(name).parameters)
      if (r.trains) trained.insert(r.name);
    EXPECT_EQ(trained, facts["trainable"].get<Names>()) << name;
    ++models;
  }
  EXPECT_EQ(models, kModels);
}

std::string text_file(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(kData / "graphs" / name).rdbuf();
  return text.str();
}

TEST(ImportGolden, GraphOfLenet) {
  const ModelPtr model = load_model_bytes(build_model("lenet", {}), "lenet.onnx");
  EXPECT_EQ(to_text(import_model(*model, {}).graph), text_file("lenet.txt"));
}

TEST(ImportGolden, GraphOfResnetWhileTraining) {
  EXPECT_EQ(to_text(import_golden("resnet8_rgb_legacy_train_13").graph), text_file("resnet8_training.txt"));
}

TEST(ImportGolden, GraphOfResnetForInference) {
  ImportOptions options;
  options.mode = ImportMode::inference;
  const ModelPtr model = load_model((kData / "golden/resnet8_rgb_legacy_train_13/model.onnx").string());
  EXPECT_EQ(to_text(import_model(*model, options).graph), text_file("resnet8_inference.txt"));
}

}  // namespace
}  // namespace arbalest
