#include "graph/host_tensor.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "graph/float16.h"

namespace arbalest {
namespace {

using ::testing::ElementsAre;
constexpr float kInfinity32 = std::numeric_limits<float>::infinity();

template <class T>
std::vector<T> values(const HostTensor& t) {
  return {t.as<T>().begin(), t.as<T>().end()};
}

template <class T>
HostTensor tensor(DataType dtype, const std::vector<T>& elements) {
  HostTensor t(dtype, {static_cast<int64_t>(elements.size())});
  std::copy(elements.begin(), elements.end(), t.as<T>().begin());
  return t;
}

TEST(HostTensor, IsAlignedAndZero) {
  for (int64_t n = 1; n < 40; ++n) {
    const HostTensor t(DataType::f64, {n, 3});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t.bytes.data()) % 64, 0u);
    EXPECT_EQ(t.bytes.size(), static_cast<size_t>(n) * 24);
    for (const double x : t.as<double>()) EXPECT_EQ(x, 0.0);
  }
  EXPECT_EQ(HostTensor(DataType::i8, {}).element_count(), 1);
  EXPECT_EQ(HostTensor(DataType::i8, {3, 0}).bytes.size(), 0u);
  EXPECT_EQ(HostTensor().element_count(), 0);
}

TEST(HostTensor, WrongElementTypeIsAnError) {
  const HostTensor t(DataType::f32, {2});
  EXPECT_THROW(t.as<double>(), Error);
  EXPECT_THROW(t.as<int32_t>(), Error);
  EXPECT_EQ(HostTensor(DataType::bf16, {2}).as<uint16_t>().size(), 2u);
}

TEST(HostTensor, WrongNumberOfValuesIsAnError) {
  EXPECT_THROW(HostTensor::f32({2, 2}, std::vector<float>{1, 2, 3}), Error);
}

TEST(HostTensor, FloatToIntegerTruncatesAndSaturates) {
  const HostTensor t = HostTensor::f32({6}, std::vector<float>{1.9f, -1.9f, 1e9f, -1e9f, NAN, 127.5f});
  EXPECT_THAT(values<int8_t>(t.to(DataType::i8)), ElementsAre(1, -1, 127, -128, 0, 127));
  EXPECT_THAT(values<uint8_t>(t.to(DataType::u8)), ElementsAre(1, 0, 255, 0, 0, 127));
  const HostTensor big = HostTensor::f32({2}, std::vector<float>{9.3e18f, -kInfinity32});
  EXPECT_THAT(values<int64_t>(big.to(DataType::i64)),
              ElementsAre(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(values<uint64_t>(HostTensor::f32({1}, std::vector<float>{1e19f}).to(DataType::u64))[0],
            9999999980506447872u);
}

TEST(HostTensor, IntegersKeepAllBits) {
  const int64_t big = (int64_t{1} << 53) + 1;
  const HostTensor t = HostTensor::i64({3}, std::vector<int64_t>{big, -1, 258});
  EXPECT_THAT(values<uint64_t>(t.to(DataType::u64)), ElementsAre(static_cast<uint64_t>(big), ~uint64_t{0}, 258u));
  EXPECT_THAT(values<uint8_t>(t.to(DataType::u8)), ElementsAre(1, 255, 2));
  EXPECT_THAT(values<bool>(t.to(DataType::boolean)), ElementsAre(true, true, true));
  EXPECT_THAT(values<float>(tensor<bool>(DataType::boolean, {true, false}).to_f32()), ElementsAre(1.0f, 0.0f));
}

// All 65536 patterns: to float32 and back is the identity, but for the quiet bit of a NaN.
TEST(HostTensor, SixteenBitFloatsRoundTrip) {
  for (const auto& [type, quiet] : {std::pair(DataType::f16, 0x200), std::pair(DataType::bf16, 0x40)}) {
    HostTensor all(type, {65536});
    for (size_t i = 0; i < 65536; ++i) all.as<uint16_t>()[i] = static_cast<uint16_t>(i);
    const HostTensor wide = all.to_f32();
    const HostTensor back = wide.to(type);
    for (size_t i = 0; i < 65536; ++i) {
      const int expected = std::isnan(wide.as<float>()[i]) ? static_cast<int>(i) | quiet : static_cast<int>(i);
      ASSERT_EQ(back.as<uint16_t>()[i], expected);
    }
  }
}

TEST(Float16, KnownValues) {  // IEEE 754 binary16
  EXPECT_EQ(f16_from_f32(1.0f), 0x3c00);
  EXPECT_EQ(f16_from_f32(-2.0f), 0xc000);
  EXPECT_EQ(f16_from_f32(65504.0f), 0x7bff);
  EXPECT_EQ(f16_from_f32(65519.9f), 0x7bff);
  EXPECT_EQ(f16_from_f32(65520.0f), 0x7c00);
  EXPECT_EQ(f16_from_f32(kInfinity32), 0x7c00);
  EXPECT_EQ(f16_from_f32(0x1p-24f), 0x0001);
  EXPECT_EQ(f16_from_f32(0x1p-25f), 0x0000);         // a tie: to even
  EXPECT_EQ(f16_from_f32(0x1.000002p-25f), 0x0001);  // just above the tie
  EXPECT_EQ(f16_from_f32(0x1p-14f), 0x0400);
  EXPECT_EQ(f16_from_f32(0x1p-14f - 0x1p-24f), 0x03ff);
  EXPECT_EQ(f16_from_f32(-0.0f), 0x8000);
  EXPECT_EQ(f16_from_f32(1.0f + 0x1p-11f), 0x3c00);  // a tie: to even
  EXPECT_EQ(f16_from_f32(1.0f + 0x3p-11f), 0x3c02);
  EXPECT_EQ(bf16_from_f32(1.0f), 0x3f80);
  EXPECT_EQ(bf16_from_f32(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(bf16_from_f32(1.0f + 0x3p-8f), 0x3f82);
  EXPECT_EQ(bf16_from_f32(std::numeric_limits<float>::max()), 0x7f80);
}

// The nearest of the two neighbours, found by trying all: an independent definition of rounding to nearest even.
uint16_t nearest_f16(double x) {
  uint16_t best = 0;
  double best_distance = std::numeric_limits<double>::infinity();
  for (uint16_t bits = 0; bits <= 0x7bff; ++bits) {
    const double distance = std::fabs(static_cast<double>(f32_from_f16(bits)) - x);
    if (distance < best_distance || (distance == best_distance && bits % 2 == 0)) {
      best = bits;
      best_distance = distance;
    }
  }
  return best;
}

TEST(Float16, RoundsFloat64Once) {
  std::mt19937_64 random(1);
  std::vector<double> samples;
  for (int i = 0; i < 100; ++i) {
    const auto bits = static_cast<uint16_t>(random() % 0x7bff);
    const double low = f32_from_f16(bits);
    const double high = f32_from_f16(static_cast<uint16_t>(bits + 1));
    const double middle = (low + high) / 2;
    // Nearer to the middle than a float32 can tell: rounding twice would go wrong.
    samples.insert(samples.end(), {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e9), low});
  }
  const HostTensor rounded = tensor<double>(DataType::f64, samples).to(DataType::f16);
  for (size_t i = 0; i < samples.size(); ++i)
    EXPECT_EQ(rounded.as<uint16_t>()[i], nearest_f16(samples[i])) << samples[i];
}

}  // namespace
}  // namespace arbalest
