#include "graph/dim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "graph/base/error.h"
#include "tests/graph/small_graphs.h"

namespace arbalest {
namespace {

const Dim M = Dim::symbol("M");

TEST(Dim, EqualPolynomialsAreEqual) {
  EXPECT_EQ(2 * N - N, N);
  EXPECT_EQ((N + 1) * (N - 1), N * N - 1);
  EXPECT_EQ(N * M, M * N);
  EXPECT_EQ(N - N, Dim(0));
  EXPECT_TRUE((N - N).is_constant());
  EXPECT_FALSE(N == M);
  EXPECT_FALSE(N == Dim(1));
}

TEST(Dim, Prints) {
  EXPECT_EQ(to_string(Dim(0)), "0");
  EXPECT_EQ(to_string(Dim(-3)), "-3");
  EXPECT_EQ(to_string(1 + N), "N + 1");
  EXPECT_EQ(to_string(1 - N), "-N + 1");
  EXPECT_EQ(to_string(2 * N * M - N * N - 5), "2*M*N - N*N - 5");
  EXPECT_EQ(to_string(floor_div(N + 1, 2)), "floor((N + 1)/2)");
  EXPECT_EQ(to_string(floor_div(N, 2)), "floor(N/2)");
  EXPECT_EQ(to_string(floor_div(N, M + 1)), "floor(N/(M + 1))");
}

TEST(Dim, Divides) {
  EXPECT_EQ(floor_div(4 * N, 2), 2 * N);
  EXPECT_EQ(floor_div(4 * N, -2), -2 * N);
  EXPECT_EQ(floor_div(N * M * 6, 3 * M), 2 * N);
  EXPECT_EQ(floor_div(N * N + 2 * N + 1, N + 1), N + 1);
  EXPECT_EQ(floor_div(N * N - M * M, N + M), N - M);
  EXPECT_EQ(floor_div(3 * N + 5, 2), N + 2 + floor_div(N + 1, 2));
  EXPECT_EQ(floor_div(N - 1, 2) + 1, floor_div(N + 1, 2));
  EXPECT_EQ(floor_div(2 * N, 4), floor_div(N, 2));
  EXPECT_EQ(floor_div(2 * N + 1, 4), floor_div(N, 2));
  EXPECT_EQ(floor_div(floor_div(N, 2), 3), floor_div(N, 6));
  EXPECT_EQ(floor_div(floor_div(3 * N, 2), 3), floor_div(N, 2));
  EXPECT_EQ(floor_div(floor_div(N + 1, 2) + 1, 2), floor_div(N + 3, 4));
  EXPECT_EQ(ceil_div(N, 2), -floor_div(-N, 2));
  EXPECT_EQ(ceil_div(Dim(7), 2), Dim(4));
  EXPECT_EQ(floor_div(Dim(-7), 2), Dim(-4));
  EXPECT_EQ(floor_div(Dim(7), -2), Dim(-4));
}

TEST(Dim, Binds) {
  const Dim d = floor_div(N * M + 1, 2) * N - floor_div(N, M);
  EXPECT_EQ(d.bind({{"N", 7}, {"M", 2}}), Dim(7 * 7 - 3));
  EXPECT_EQ((N * M).bind({{"N", 3}}), 3 * M);
  EXPECT_EQ(d.bind({}), d);
  EXPECT_THROW(N.value(), Error);
  std::vector<std::string> names = {"K"};
  d.add_symbols(names);
  EXPECT_EQ(names, (std::vector<std::string>{"K", "N", "M"}));
}

// A symbol may have any name, even the text of a quotient.
TEST(Dim, NamesDoNotCollide) {
  const Dim quotient = floor_div(N, 2);
  const Dim symbol = Dim::symbol("floor(N/2)");
  EXPECT_FALSE(quotient == symbol);
  EXPECT_FALSE((quotient - symbol).is_constant());
  EXPECT_FALSE(floor_div(Dim::symbol("A*B"), 2) == floor_div(Dim::symbol("A") * Dim::symbol("B"), 2));
}

TEST(Dim, RefusesWhatDoesNotFit) {
  EXPECT_THROW(Dim(INT64_MAX) + Dim(1), Error);
  EXPECT_THROW(Dim(INT64_MIN) * Dim(-1) + N, Error);
  EXPECT_THROW(floor_div(N, 0), Error);
  EXPECT_THROW(floor_div(N, M).bind({{"M", 0}}), Error);
  Dim power = N + M;
  EXPECT_THROW(
      {
        for (int i = 0; i < 64; ++i) power = power * power;
      },
      Error);
  Dim nested = N;
  EXPECT_THROW(
      {
        for (int i = 0; i < 10000; ++i) nested = floor_div(nested * nested + 1, 3);
      },
      Error);
}

// Random expressions: binding at once equals computing with numbers.
TEST(Dim, RandomExpressionsMatchIntegers) {
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 2000; ++round) {
    const Bindings at = {{"N", 1 + below(20)}, {"M", 1 + below(20)}};
    std::vector<std::pair<Dim, int64_t>> pool = {{N, at.at("N")}, {M, at.at("M")}, {Dim(below(9) - 4), 0}};
    pool[2].second = pool[2].first.value();
    for (int step = 0; step < 6; ++step) {
      const auto [a, x] = pool[below(static_cast<int>(pool.size()))];
      const auto [b, y] = pool[below(static_cast<int>(pool.size()))];
      switch (below(4)) {
        case 0:
          pool.emplace_back(a + b, x + y);
          break;
        case 1:
          pool.emplace_back(a - b, x - y);
          break;
        case 2:
          pool.emplace_back(a * b, x * y);
          break;
        default: {
          const int64_t c = 1 + below(6);
          pool.emplace_back(floor_div(a, c),
                            static_cast<int64_t>(std::floor(static_cast<double>(x) / static_cast<double>(c))));
        }
      }
      if (std::abs(pool.back().second) > (int64_t{1} << 40)) pool.pop_back();
      ASSERT_EQ(pool.back().first.bind(at), Dim(pool.back().second)) << to_string(pool.back().first);
    }
  }
}

}  // namespace
}  // namespace arbalest
