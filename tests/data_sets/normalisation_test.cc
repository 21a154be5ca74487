#include "data/normalisation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/data_sets/examples.h"
#include "tests/data_sets/files.h"

namespace arbalest {
namespace {

using ::testing::HasSubstr;

Dataset with_input(HostTensor values) {
  const int64_t n = values.dims[0];
  return make_dataset("d", {{"x", std::move(values)}}, {"y", HostTensor(DataType::i64, {n})});
}

TEST(Normalisation, PerChannelOfBytesInUnitsOf255) {
  // Channel 0 holds 0, 255, 0, 255; channel 1 the constant 51.
  const Dataset d = with_input(tensor_of<uint8_t>(DataType::u8, {2, 2, 2}, {0, 255, 51, 51, 0, 255, 51, 51}));
  const ChannelStatistics s = measure(d)[0];
  ASSERT_EQ(s.mean.size(), 2u);
  EXPECT_DOUBLE_EQ(s.mean[0], 0.5);
  EXPECT_DOUBLE_EQ(s.deviation[0], 0.5);
  EXPECT_DOUBLE_EQ(s.mean[1], 0.2);
  EXPECT_EQ(s.deviation[1], 1) << "of a constant channel";
}

// More bytes in a channel than 32-bit sums of squares hold, against a plain sum in long double.
TEST(Normalisation, LongChannelOfBytes) {
  std::mt19937 random(1);
  std::vector<uint8_t> values(200'000, 255);
  for (size_t i = 0; i < values.size(); i += 3) values[i] = static_cast<uint8_t>(random());
  long double sum = 0, squares = 0;
  for (const uint8_t v : values) sum += v / 255.0L;
  const long double mean = sum / values.size();
  for (const uint8_t v : values) squares += (v / 255.0L - mean) * (v / 255.0L - mean);
  const ChannelStatistics s = measure(with_input(tensor_of<uint8_t>(DataType::u8, {1, 200'000}, values)))[0];
  ASSERT_EQ(s.mean.size(), 1u) << "a list of bytes is one channel";
  EXPECT_NEAR(s.mean[0], static_cast<double>(mean), 1e-12);
  EXPECT_NEAR(s.deviation[0], static_cast<double>(std::sqrt(squares / values.size())), 1e-12);
}

TEST(Normalisation, FloatFeaturesFarFromZero) {
  const Dataset d = with_input(tensor_of<float>(DataType::f32, {4, 2}, {1e6f, 1, 1e6f + 1, 2, 1e6f, 3, 1e6f + 1, 4}));
  const ChannelStatistics s = measure(d)[0];
  ASSERT_EQ(s.mean.size(), 2u) << "each feature is a channel";
  EXPECT_DOUBLE_EQ(s.mean[0], 1e6 + 0.5);
  EXPECT_DOUBLE_EQ(s.deviation[0], 0.5);
  EXPECT_DOUBLE_EQ(s.mean[1], 2.5);
  EXPECT_DOUBLE_EQ(s.deviation[1], std::sqrt(1.25));
}

TEST(Normalisation, ValuesThatAreNotFinite) {
  const Dataset d = with_input(tensor_of<float>(DataType::f32, {3, 2}, {0, 1, 2, 3, NAN, 5}));
  EXPECT_THAT(error_of([&] { measure(d); }), HasSubstr("d: 'x' has the value nan at example 2"));
}

TEST(Normalisation, None) {
  const Normalisation n = no_normalisation(with_input(HostTensor(DataType::u8, {2, 3, 4, 4})));
  EXPECT_EQ(n[0].mean, std::vector<double>(3, 0.0));
  EXPECT_EQ(n[0].deviation, std::vector<double>(3, 1.0));
}

}  // namespace
}  // namespace arbalest
