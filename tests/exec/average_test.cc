#include "exec/optimiser/average.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace arbalest {
namespace {

constexpr int64_t kElements = 1003;

std::vector<float> random_array(std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> array(kElements);
  for (float& x : array) x = normal(random);
  return array;
}

TEST(Average, EqualsDoublePrecision) {
  std::mt19937 random(12);
  const std::vector<float> z = random_array(random);
  const std::vector<float> z_previous = random_array(random);
  for (const size_t count : {1, 2, 3, 5}) {
    std::vector<std::vector<float>> models(count);
    std::vector<const float*> x;
    for (auto& model : models) {
      model = random_array(random);
      x.push_back(model.data());
    }
    std::vector<float> mean(kElements), sum(kElements), difference(kElements), next(kElements), applied = z_previous;
    sum_of(x, 1.0f / static_cast<float>(count), mean.data(), 0, kElements);
    sum_of(x, 1, sum.data(), 0, kElements);
    sum_differences(x, z.data(), difference.data(), 0, kElements);
    average_models(x, z.data(), z_previous.data(), next.data(), 0.3f, 0.9f, 0, kElements);
    apply_differences(difference.data(), z.data(), applied.data(), applied.data(), 0.3f, 0.9f, 0, kElements);
    EXPECT_EQ(next, applied);
    for (size_t i = 0; i < kElements; ++i) {
      double s = 0;
      for (const auto& model : models) s += model[i];
      const double d = s - static_cast<double>(count) * z[i];
      EXPECT_NEAR(mean[i], s / static_cast<double>(count), 2e-6);
      EXPECT_NEAR(sum[i], s, 5e-6);
      EXPECT_NEAR(difference[i], d, 5e-6);
      EXPECT_NEAR(next[i], z[i] + 0.3 * d + 0.9 * (double{z[i]} - z_previous[i]), 5e-6);
    }
  }
}

TEST(Average, PartsGiveTheSameBits) {
  std::mt19937 random(13);
  const std::vector<float> a = random_array(random);
  const std::vector<float> b = random_array(random);
  std::vector<float> whole(kElements), parts(kElements);
  sum_of(std::vector{a.data(), b.data()}, 0.5f, whole.data(), 0, kElements);
  for (const auto& [begin, end] : {std::pair{0, 5}, {5, 500}, {500, 1003}}) {
    sum_of(std::vector{a.data(), b.data()}, 0.5f, parts.data() + begin, begin, end);
  }
  EXPECT_EQ(whole, parts);
}

}  // namespace
}  // namespace arbalest
