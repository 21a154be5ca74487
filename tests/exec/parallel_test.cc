#include "exec/cpu/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace arbalest {
namespace {

TEST(Parallel, VisitsEveryIndexOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    for (const int64_t n : {0, 1, 2, 5, 1000}) {
      std::vector<int> visits(static_cast<size_t>(n), 0);
      parallel_for(threads, n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      EXPECT_EQ(visits, std::vector<int>(static_cast<size_t>(n), 1)) << threads << " threads, " << n;
    }
  }
}

TEST(Parallel, ThreadsShareNoCacheLine) {
  std::vector<int> visits(100, 0);
  parallel_for(3, ElementRange{7, 95}, [&](int64_t begin, int64_t end) {
    EXPECT_EQ((begin - 7) % 16, 0);
    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
  });
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(visits[i], 7 <= i && i < 95 ? 1 : 0) << i;
}

TEST(Parallel, NestedRunsSerially) {
  std::vector<int> visits(40, 0);
  parallel_for(2, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      parallel_for(2, 10, [&](int64_t first, int64_t last) {
        for (int64_t j = first; j < last; ++j) ++visits[static_cast<size_t>(i * 10 + j)];
      });
    }
  });
  EXPECT_EQ(visits, std::vector<int>(40, 1));
}

TEST(Parallel, RethrowsTheFailureOfTheLowestBlock) {
  const auto fail = [](int64_t begin, int64_t) { throw std::runtime_error(begin == 0 ? "first" : "other"); };
  for (int i = 0; i < 20; ++i) {
    try {
      parallel_for(3, 9, fail);
      FAIL();
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "first");
    }
  }
}

TEST(Parallel, BlocksCoverTheRangeInMultiples) {
  for (const int64_t n : {0, 1, 15, 16, 17, 100, 1000}) {
    for (const int64_t parts : {1, 2, 3, 8}) {
      int64_t covered = 0;
      for (int64_t p = 0; p < parts; ++p) {
        const ElementRange block = part_of({0, n}, p, parts, 16);
        EXPECT_EQ(block.begin, covered);
        EXPECT_TRUE(block.begin % 16 == 0 || block.begin == n);
        covered = block.end;
      }
      EXPECT_EQ(covered, n);
    }
  }
}

}  // namespace
}  // namespace arbalest
