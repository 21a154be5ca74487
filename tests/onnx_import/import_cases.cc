// What the importer says to the user about some of the cases. Whether it finds what trains and refuses what is faulty
// is checked for all of them by arbalest verify --case.
#include <gmock/gmock.h>

#include <filesystem>

#include "onnx_import/importer.h"

namespace arbalest {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = fs::path(ARBALEST_TEST_DATA) / "cases";

TEST(ImportCases, GeneraliseTheBatchWithANotice) {
  for (const auto& [name, words] : {std::pair("baked_batch_flatten",
                                              "node 'reshape_3' (Reshape): shape 1 x 12 "
                                              "generalised to N x 12"),
                                    std::pair("baked_batch_expand",
                                              "node 'concat_1' (Concat): shape 1 x 1 x 4 "
                                              "generalised to N x 1 x 4")}) {
    const Imported imported = import_model(*load_model((kCases / name / "model.onnx").string()), {});
    EXPECT_THAT(imported.notices, testing::ElementsAre(words));
    const GraphOutput* y = imported.graph.find_output("y");
    ASSERT_NE(y, nullptr);
    EXPECT_EQ(to_string(imported.graph.at(y->value).type), "float32 N x 3") << name;
  }
}

TEST(ImportCases, SayWhyNothingTrains) {
  const Imported imported = import_model(*load_model((kCases / "constant_of_shape_weights/model.onnx").string()), {});
  EXPECT_THAT(imported.notices, testing::ElementsAre(testing::HasSubstr("ConstantOfShape")));
}

}  // namespace
}  // namespace arbalest
