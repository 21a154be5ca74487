#include "data/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace arbalest {
namespace {

using ::testing::ElementsAre;

std::vector<uint32_t> permutation(size_t n, uint64_t seed, uint64_t stream) {
  std::vector<uint32_t> p(n);
  fill_permutation(p, seed, stream);
  return p;
}

// Computed by a Python program with unbounded integers, whose SplitMix64 gives the published sequence of seed 1234567.
TEST(Order, EqualOnEveryMachine) {
  EXPECT_THAT(permutation(10, 42, 0), ElementsAre(7, 4, 6, 9, 0, 5, 3, 1, 8, 2));
  EXPECT_THAT(permutation(10, 42, 3), ElementsAre(0, 8, 5, 6, 4, 1, 3, 7, 2, 9));
}

TEST(Order, EachEpochVisitsEveryExampleOnce) {
  for (const uint32_t n : {1u, 2u, 7u, 1000u}) {
    DataOrder order(n, 5);
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<uint32_t> seen;
      for (uint64_t i = 0; i < n; ++i) seen.push_back(order.sample(epoch * n + i));
      EXPECT_EQ(seen, permutation(n, 5, epoch));
      std::sort(seen.begin(), seen.end());
      for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(seen[i], i);
    }
  }
}

TEST(Order, AnyPositionInAnyOrder) {
  DataOrder forward(10, 3), jumping(10, 3);
  std::vector<uint32_t> stream;
  for (uint64_t p = 0; p < 100; ++p) stream.push_back(forward.sample(p));
  for (const uint64_t p : {99, 0, 57, 58, 11, 10, 9, 90}) EXPECT_EQ(jumping.sample(p), stream[p]) << p;
}

TEST(Order, EpochsAndSeedsDiffer) {
  EXPECT_NE(permutation(100, 1, 0), permutation(100, 1, 1));
  EXPECT_NE(permutation(100, 1, 0), permutation(100, 2, 0));
}

// Each of the 24 orders of 4 examples comes up about equally often: chi-squared with 23 degrees of freedom, 99.9 %.
TEST(Order, Uniform) {
  constexpr int kTrials = 24'000;
  std::map<std::vector<uint32_t>, int> counts;
  for (int i = 0; i < kTrials; ++i)
    ++counts[permutation(4, static_cast<uint64_t>(i % 100), static_cast<uint64_t>(i / 100))];
  ASSERT_EQ(counts.size(), 24u);
  double chi_squared = 0;
  for (const auto& [order, count] : counts) chi_squared += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_squared, 49.7);
}

}  // namespace
}  // namespace arbalest
