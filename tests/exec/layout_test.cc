#include "exec/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "graph/base/error.h"
#include "tests/exec/kernel_harness.h"

namespace arbalest {
namespace {

int64_t offset_by_digits(const Layout& layout, const Dims& index) {
  int64_t offset = 0;
  for (int axis = 0; axis < layout.rank(); ++axis) {
    int64_t rest = index[static_cast<size_t>(axis)];
    const std::vector<Layout::Digit> digits = layout.digits(axis);
    for (size_t i = digits.size(); i-- > 0;) {
      offset += rest % digits[i].size * digits[i].stride;
      rest /= digits[i].size;
    }
  }
  return offset;
}

TEST(Layout, KnownForms) {
  const Dims dims = {2, 20, 3, 5};
  const Layout row_major = Layout::row_major(dims);
  EXPECT_EQ(row_major.strides, (Dims{300, 15, 5, 1}));
  EXPECT_EQ(row_major.text(), "abcd");
  EXPECT_TRUE(row_major.is_row_major());
  EXPECT_TRUE(row_major.is_permutation());
  EXPECT_EQ(row_major.elements(), 600);

  const Layout channels_last = Layout::permuted(dims, {0, 2, 3, 1});
  EXPECT_EQ(channels_last.strides, (Dims{300, 1, 100, 20}));
  EXPECT_EQ(channels_last.text(), "acdb");
  EXPECT_FALSE(channels_last.is_row_major());
  EXPECT_TRUE(channels_last.is_permutation());
  EXPECT_EQ(channels_last.order(), (std::vector<int>{0, 2, 3, 1}));

  const Layout blocked = Layout::channel_blocked(dims, 8);
  EXPECT_EQ(blocked.padded_dims, (Dims{2, 24, 3, 5}));
  EXPECT_EQ(blocked.strides, (Dims{360, 120, 40, 8}));
  EXPECT_EQ(blocked.text(), "aBcd8b");
  EXPECT_FALSE(blocked.is_row_major());
  EXPECT_FALSE(blocked.is_permutation());
  EXPECT_TRUE(blocked.has_padding());
  EXPECT_EQ(blocked.elements(), 720);
  EXPECT_EQ(blocked.bytes(DataType::f64), 5760u);
  EXPECT_FALSE(blocked == row_major);
  EXPECT_FALSE(channels_last == row_major);
  EXPECT_EQ(Layout::row_major({}).text(), "scalar");
  EXPECT_EQ(Layout::row_major({}).elements(), 1);
}

TEST(Layout, DescriptionsOfTheSameMemoryAreEqual) {
  EXPECT_EQ(Layout::permuted({2, 7, 1, 1}, {0, 2, 3, 1}), Layout::row_major({2, 7, 1, 1}));
  EXPECT_EQ(Layout::channel_blocked({3, 16, 1, 1}, 8), Layout::row_major({3, 16, 1, 1}));
  EXPECT_TRUE(Layout::channel_blocked({3, 16, 1, 1}, 8).is_row_major());
  EXPECT_EQ(Layout::channel_blocked({3, 8, 4, 5}, 8), Layout::permuted({3, 8, 4, 5}, {0, 2, 3, 1}));
  EXPECT_FALSE(Layout::channel_blocked({3, 12, 1, 1}, 8) == Layout::row_major({3, 12, 1, 1}));
  EXPECT_FALSE(Layout::channel_blocked({3, 16, 2, 1}, 8) == Layout::row_major({3, 16, 2, 1}));
  EXPECT_EQ(Layout::permuted({4, 0, 2}, {2, 1, 0}), Layout::row_major({4, 0, 2}));
  EXPECT_FALSE(Layout::row_major({4, 2}) == Layout::row_major({2, 4}));
}

TEST(Layout, WeightsWithTwoBlocks) {
  Layout weights = Layout::row_major({16, 24, 3, 3});
  weights.blocks = {{1, 8}, {0, 8}};  // OIhw8i8o
  weights.strides = {3 * 9 * 64, 9 * 64, 3 * 64, 64};
  EXPECT_EQ(weights.text(), "ABcd8b8a");
  EXPECT_EQ(weights.elements(), 16 * 24 * 9);
  std::set<int64_t> seen;
  for_each_index(weights.dims, [&](const Dims& index) { seen.insert(offset_by_digits(weights, index)); });
  EXPECT_EQ(static_cast<int64_t>(seen.size()), weights.elements());
  EXPECT_EQ(*seen.rbegin(), weights.elements() - 1);
}

TEST(Layout, DigitsAddressEachElementOnce) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const Dims dims = random_dims(random, static_cast<int>(random() % 7));
    const Layout layout = random_layout(random, dims);
    const HostTensor numbers = random_tensor(random, DataType::f64, dims);
    const AlignedBytes bytes = to_layout(numbers, layout);
    const auto* stored = reinterpret_cast<const double*>(bytes.data());
    size_t n = 0;
    std::set<int64_t> seen;
    for_each_index(dims, [&](const Dims& index) {
      const int64_t offset = offset_by_digits(layout, index);
      ASSERT_LT(offset, layout.elements());
      ASSERT_EQ(stored[offset], numbers.as<double>()[n]) << layout.text() << " of " << to_string(dims);
      seen.insert(offset);
      ++n;
    });
    EXPECT_EQ(seen.size(), n);
    if (!layout.has_padding()) {
      EXPECT_EQ(static_cast<int64_t>(n), layout.elements());
    }
    EXPECT_EQ(from_layout(bytes.data(), layout, DataType::f64), numbers);
    EXPECT_EQ(layout.is_row_major(), layout == Layout::row_major(dims));
  }
}

TEST(Layout, ResizedKeepsOrderAndBlocks) {
  EXPECT_EQ(Layout::channel_blocked({2, 20, 3, 5}, 8).resized({1, 30, 7, 1}),
            Layout::channel_blocked({1, 30, 7, 1}, 8));
  EXPECT_EQ(Layout::permuted({2, 20, 3, 5}, {0, 2, 3, 1}).resized({3, 5, 2, 2}),
            Layout::permuted({3, 5, 2, 2}, {0, 2, 3, 1}));
  EXPECT_EQ(Layout::row_major({1, 1, 1}).resized({2, 3, 4}), Layout::row_major({2, 3, 4}));
  EXPECT_THROW(Layout::row_major({1, 1}).resized({2}), Error);
}

TEST(Layout, ImpossibleOnesAreDefects) {
  EXPECT_THROW(Layout::permuted({2, 3}, {0, 0}), Error);
  EXPECT_THROW(Layout::permuted({2, 3}, {0}), Error);
  EXPECT_THROW(Layout::channel_blocked({2}, 8), Error);
  EXPECT_THROW(Layout::row_major({int64_t{1} << 40, int64_t{1} << 40}), Error);
}

}  // namespace
}  // namespace arbalest
