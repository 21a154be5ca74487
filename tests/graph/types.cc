#include "graph/types.h"

#include <gtest/gtest.h>

#include "graph/base/error.h"
#include "tests/graph/small_graphs.h"

namespace arbalest {
namespace {

TEST(Types, SizesAndNames) {
  EXPECT_EQ(size_of(DataType::f64), 8u);
  EXPECT_EQ(size_of(DataType::bf16), 2u);
  EXPECT_EQ(size_of(DataType::boolean), 1u);
  EXPECT_EQ(name_of(DataType::f32), "float32");
  EXPECT_EQ(name_of(DataType::u16), "uint16");
  EXPECT_EQ(name_of(DataType::boolean), "bool");
  EXPECT_TRUE(is_float(DataType::bf16));
  EXPECT_FALSE(is_integer(DataType::boolean));
  EXPECT_TRUE(is_integer(DataType::u64));
}

TEST(Types, Prints) {
  EXPECT_EQ(to_string(Shape{}), "scalar");
  EXPECT_EQ(to_string(Shape{N, 3, 32, 32}), "N x 3 x 32 x 32");
  EXPECT_EQ(to_string(Shape{N + 1, floor_div(N + 1, 2)}), "(N + 1) x floor((N + 1)/2)");
  EXPECT_EQ(to_string(TensorType{DataType::f32, {N, 10}}), "float32 N x 10");
  EXPECT_EQ(to_string(Dims{2, 3}), "2 x 3");
}

TEST(Types, CountsElements) {
  EXPECT_EQ(element_count(Dims{}), 1);
  EXPECT_EQ(element_count(Dims{2, 3, 4}), 24);
  EXPECT_EQ(element_count(Dims{int64_t{1} << 60, 0, int64_t{1} << 60}), 0);
  EXPECT_THROW(element_count(Dims{int64_t{1} << 40, int64_t{1} << 40}), Error);
  EXPECT_THROW(element_count(Dims{-1, 2}), Error);
  EXPECT_EQ((Shape{N, 3, N}).element_count(), 3 * N * N);
  EXPECT_EQ(row_major_strides({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ((TensorType{DataType::f64, {2, 3}}).bytes(), 48u);
  EXPECT_THROW((Shape{N}).dims(), Error);
}

TEST(Types, Broadcasts) {
  EXPECT_EQ(broadcast({N, 1, 3}, {4, 1}), (Shape{N, 4, 3}));
  EXPECT_EQ(broadcast({}, {N}), Shape{N});
  EXPECT_EQ(broadcast({0}, {1}), Shape{0});
  EXPECT_THROW(broadcast({2}, {3}), Error);
  EXPECT_THROW(broadcast({N}, {3}), Error);
}

TEST(Types, NormalisesAxes) {
  EXPECT_EQ(normalise_axis(-1, 4), 3);
  EXPECT_EQ(normalise_axis(0, 4), 0);
  EXPECT_THROW(normalise_axis(4, 4), Error);
  EXPECT_THROW(normalise_axis(-5, 4), Error);
}

}  // namespace
}  // namespace arbalest
