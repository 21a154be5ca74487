#include "data/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data_sets/examples.h"
#include "tests/data_sets/files.h"

namespace arbalest {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

TEST(Batch, BytesAreScaledAndNormalisedPerChannel) {
  const Dataset d = make_dataset("d", {{"x", tensor_of<uint8_t>(DataType::u8, {2, 2, 2}, {0, 255, 51, 0, 1, 2, 3, 4})}},
                                 {"y", tensor_of<int64_t>(DataType::i64, {2}, {5, 6})});
  Batch batch = make_batch(d, 3);
  EXPECT_EQ(batch.size(), 3);
  EXPECT_EQ(batch.inputs[0].dims, (Dims{3, 2, 2}));
  const Normalisation normalisation{{{0.5, 0.2}, {0.25, 2}}};
  const BatchFiller filler(d, normalisation);
  filler.fill(batch, 2, 0);
  filler.fill(batch, 0, 1);
  const auto at = [](double x, double mean, double deviation) {
    return FloatNear(static_cast<float>((x / 255 - mean) / deviation), 1e-6f);
  };
  EXPECT_THAT(batch.inputs[0].as<float>(),
              ElementsAre(at(1, .5, .25), at(2, .5, .25), at(3, .2, 2), at(4, .2, 2), 0, 0, 0, 0, at(0, .5, .25),
                          at(255, .5, .25), at(51, .2, 2), at(0, .2, 2)));
  EXPECT_THAT(batch.labels.as<int64_t>(), ElementsAre(6, 0, 5));
}

TEST(Batch, SeveralInputsAndTargets) {
  const Dataset d = make_dataset("d",
                                 {{"a", tensor_of<float>(DataType::f32, {2, 2}, {1, 10, 3, 20})},
                                  {"b", tensor_of<int32_t>(DataType::i32, {2}, {7, 8})}},
                                 {"y", tensor_of<float>(DataType::f32, {2, 2}, {.1f, .2f, .3f, .4f})});
  Batch batch = make_batch(d, 1);
  BatchFiller(d, measure(d)).fill(batch, 0, 1);
  EXPECT_THAT(batch.inputs[0].as<float>(), ElementsAre(1, 1));
  EXPECT_THAT(batch.inputs[1].as<float>(), ElementsAre(1));
  EXPECT_THAT(batch.labels.as<float>(), ElementsAre(.3f, .4f));
  BatchFiller(d, no_normalisation(d)).fill(batch, 0, 1);
  EXPECT_THAT(batch.inputs[0].as<float>(), ElementsAre(3, 20));
}

TEST(Batch, MoreThanTheMemoryOfTheMachine) {
  const Dataset d = numbered(2);
  EXPECT_THAT(error_of([&] { make_batch(d, int64_t{1} << 55); }), HasSubstr("the machine has"));
  EXPECT_THAT(error_of([&] { make_batch(d, int64_t{1} << 62); }), HasSubstr("beyond what can be addressed"));
}

}  // namespace
}  // namespace arbalest
