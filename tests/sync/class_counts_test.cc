#include "sync/class_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace arbalest {
namespace {

// Classes from the highest score to the lowest, the lower class first among equals: what a stable sort gives.
std::vector<int64_t> ranking(const std::vector<float>& scores) {
  std::vector<int64_t> classes(scores.size());
  std::iota(classes.begin(), classes.end(), 0);
  std::stable_sort(classes.begin(), classes.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  return classes;
}

TEST(ClassCounts, EqualASortOfEachPosition) {
  std::mt19937 random(4);
  const int64_t outer = 7, classes = 6, inner = 5;
  for (const int best : {1, 3, 6}) {
    std::vector<float> scores(outer * classes * inner);
    for (float& s : scores) s = static_cast<float>(random() % 5);  // many are equal
    std::vector<int64_t> labels(outer * inner);
    for (int64_t& label : labels) label = static_cast<int64_t>(random() % 8) - 1;  // -1, 6 and 7 do not count

    int64_t among_best = 0;
    std::vector<int64_t> confusion(classes * classes);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        std::vector<float> position;
        for (int64_t c = 0; c < classes; ++c) position.push_back(scores[(o * classes + c) * inner + i]);
        const std::vector<int64_t> ranked = ranking(position);
        const int64_t label = labels[o * inner + i];
        if (label < 0 || label >= classes) continue;
        among_best += std::count(ranked.begin(), ranked.begin() + best, label);
        ++confusion[label * classes + ranked[0]];
      }
    }
    ClassCounts counts(classes, best, true);
    counts.add(scores.data(), labels.data(), 3, inner);
    ClassCounts others(classes, best, true);
    const std::vector<double> wide(scores.begin(), scores.end());
    others.add(wide.data() + 3 * classes * inner, labels.data() + 3 * inner, outer - 3, inner);
    counts.add(others);
    EXPECT_EQ(counts.among_best(), among_best);
    EXPECT_EQ(counts.confusion(), confusion);
  }
}

TEST(ClassCounts, WhatIsNoNumberIsNotAmongTheBest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float scores[] = {nan, 1, 2, nan, 1, 2};
  const int64_t labels[] = {0, 2};
  ClassCounts counts(3, 1, false);
  counts.add(scores, labels, 2, 1);
  EXPECT_EQ(counts.among_best(), 1);
  EXPECT_THAT(counts.confusion(), testing::IsEmpty());
}

}  // namespace
}  // namespace arbalest
