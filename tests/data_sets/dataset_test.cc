#include "data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data_sets/examples.h"
#include "tests/data_sets/files.h"

namespace arbalest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Dataset, ConvertsToTheTypesOfTraining) {
  const Dataset d = make_dataset("d",
                                 {{"image", tensor_of<uint8_t>(DataType::u8, {2, 1, 1, 1}, {0, 255})},
                                  {"feature", tensor_of<int16_t>(DataType::i16, {2, 1}, {-3, 5})},
                                  {"real", tensor_of<double>(DataType::f64, {2}, {0.5, 1.5})}},
                                 {"y", tensor_of<uint8_t>(DataType::u8, {2, 1}, {3, 0})});
  EXPECT_EQ(d.size(), 2u);
  EXPECT_EQ(d.inputs[0].values.dtype, DataType::u8);
  EXPECT_EQ(d.inputs[0].sample(), (Dims{1, 1, 1}));
  EXPECT_THAT(d.inputs[1].values.as<float>(), ElementsAre(-3, 5));
  EXPECT_THAT(d.inputs[2].values.as<float>(), ElementsAre(0.5f, 1.5f));
  EXPECT_EQ(d.inputs[2].sample(), Dims{});
  EXPECT_EQ(d.labels.values.dims, Dims{2}) << "a trailing axis of one label is dropped";
  EXPECT_THAT(d.labels.values.as<int64_t>(), ElementsAre(3, 0));
  EXPECT_EQ(d.classes, 4);
}

TEST(Dataset, FloatLabelsAreTargets) {
  const Dataset d = make_dataset("d", {{"x", HostTensor(DataType::f32, {2, 3})}},
                                 {"y", tensor_of<double>(DataType::f64, {2, 1}, {0.25, 2})});
  EXPECT_FALSE(d.has_classes());
  EXPECT_EQ(d.classes, 0);
  EXPECT_EQ(d.labels.values.dims, (Dims{2, 1}));
  EXPECT_THAT(error_of([&] { check_labels(d, 3); }), HasSubstr("d: labels are float32 targets"));
}

TEST(Dataset, ColumnsMustAgree) {
  const auto error = [](const Dims& x, const Dims& y) {
    return error_of([&] {
      make_dataset("d", {{"x", HostTensor(DataType::f32, x)}}, {"y", HostTensor(DataType::i64, y)});
    });
  };
  EXPECT_THAT(error({3, 2}, {2}), HasSubstr("d: 'x' has 3 examples, 'y' has 2"));
  EXPECT_THAT(error({2, 2}, {3}), HasSubstr("d: 'x' has 2 examples, 'y' has 3"));
  EXPECT_THAT(error({}, {1}), HasSubstr("d: 'x' is a scalar"));
  EXPECT_THAT(error({0, 2}, {0}), HasSubstr("has no values"));
  EXPECT_THAT(error({2, 0}, {2}), HasSubstr("'x' (2 x 0) has no values"));
  EXPECT_THAT(error_of([] { make_dataset("d", {}, {"y", HostTensor(DataType::i64, {2})}); }), HasSubstr("no input"));
}

TEST(Dataset, LabelsOutOfRange) {
  Dataset d = numbered(20);
  check_labels(d, 10);
  d.labels.values.as<int64_t>()[12] = 7;
  EXPECT_EQ(error_of([&] { check_labels(numbered(20, 8), 7); }),
            "numbered: label 7 at example 7: the model has 7 classes (0 to 6)");
  d.labels.values.as<int64_t>()[12] = -1;
  EXPECT_EQ(error_of([&] { check_labels(d, 10); }),
            "numbered: label -1 at example 12: the model has 10 classes (0 to 9)");
}

TEST(Dataset, LabelsOfSeveralValuesAnExample) {
  const Dataset d = make_dataset("d", {{"x", HostTensor(DataType::f32, {2, 1})}},
                                 {"y", tensor_of<int64_t>(DataType::i64, {2, 3}, {0, 1, 2, 0, 5, 1})});
  EXPECT_THAT(error_of([&] { check_labels(d, 3); }), HasSubstr("label 5 at example 1"));
}

TEST(Dataset, Take) {
  const std::vector<uint32_t> examples{4, 1};
  const Dataset d = take(numbered(5), examples);
  EXPECT_THAT(d.inputs[0].values.as<float>(), ElementsAre(4, 1));
  EXPECT_THAT(d.labels.values.as<int64_t>(), ElementsAre(4, 1));
}

}  // namespace
}  // namespace arbalest
