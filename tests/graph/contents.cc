// Shape arithmetic: the elements of small tensors as expressions of the symbols.

#include "graph/contents.h"

#include <gtest/gtest.h>

#include "graph/element_index.h"
#include "tests/graph/small_graphs.h"

namespace arbalest {
namespace {

std::string contents(const Value& v) {
  const auto& c = v.builder().graph().at(v.id()).contents;
  if (!c) return "unknown";
  std::string text;
  for (const Dim& d : *c) text += (text.empty() ? "" : ", ") + to_string(d);
  return "[" + text + "]";
}

class ContentsTest : public testing::Test {
 protected:
  Value vector(const std::vector<Dim>& values, DataType type = DataType::i64) {
    return b.integers(values, {static_cast<int64_t>(values.size())}, type);
  }
  Value number(const Dim& value) { return b.integers({value}, {}); }

  Graph graph;
  Builder b{graph};
};

TEST_F(ContentsTest, Movement) {
  const Value shape = vector({N, 3, H, H});
  EXPECT_EQ(contents(gather(shape, number(0), 0)), "[N]");
  EXPECT_EQ(contents(gather(shape, vector({-1, 1}), 0)), "[H, 3]");
  EXPECT_EQ(contents(gather(shape, number(4), 0)), "unknown");
  EXPECT_EQ(contents(slice(shape, 0, 2, 2)), "[H, H]");
  EXPECT_EQ(contents(slice(shape, 0, 3, 2, -2)), "[H, 3]");
  EXPECT_EQ(contents(concat({slice(shape, 0, 0, 1), vector({-1})}, 0)), "[N, -1]");
  EXPECT_EQ(contents(reshape(shape, {2, 2})), "[N, 3, H, H]");
  EXPECT_EQ(contents(transpose(reshape(shape, {2, 2}), {1, 0})), "[N, H, 3, H]");
  EXPECT_EQ(contents(gather(reshape(shape, {2, 2}), vector({1, 0}), 1)), "[3, N, H, H]");
  EXPECT_EQ(contents(concat({reshape(shape, {2, 2}), b.integers({7, 8}, {2, 1})}, 1)), "[N, 3, 7, H, H, 8]");
  EXPECT_EQ(contents(expand(reshape(vector({N, 3}), {2, 1}), {2, 2})), "[N, N, 3, 3]");
  EXPECT_EQ(contents(stop_gradient(shape)), "[N, 3, H, H]");
  EXPECT_EQ(contents(slice(shape, 0, 0, 0)), "[]");
}

TEST_F(ContentsTest, Reductions) {
  const Value m = b.integers({N, 3, H, 2}, {2, 2});
  EXPECT_EQ(contents(reduce(Reduction::prod, m, {0, 1}, Keep::no)), "[6*H*N]");
  EXPECT_EQ(contents(reduce(Reduction::prod, m, {1}, Keep::yes)), "[3*N, 2*H]");
  EXPECT_EQ(contents(reduce(Reduction::sum, m, {0}, Keep::no)), "[H + N, 5]");
  EXPECT_EQ(contents(reduce(Reduction::max, vector({N, N + 2, 1}), {0}, Keep::no)), "[N + 2]");
  EXPECT_EQ(contents(reduce(Reduction::min, vector({N, N + 2, 1}), {0}, Keep::no)), "[1]");
  EXPECT_EQ(contents(reduce(Reduction::max, vector({N, 3}), {0}, Keep::no)), "unknown");
  EXPECT_EQ(contents(reduce(Reduction::sum, slice(m, 0, 0, 0), {0}, Keep::no)), "[0, 0]");
}

TEST_F(ContentsTest, Indexing) {
  const Value shape = vector({N, 3, H, H});
  const auto scatter = [&](ScatterReduction kind, const Value& indices, const Value& updates) {
    return b.emit_one(Scatter{0, kind, false, Dim(0)}, {shape, indices, updates});
  };
  EXPECT_EQ(contents(scatter(ScatterReduction::set, vector({-1, 1}), vector({7, N}))), "[N, N, H, 7]");
  EXPECT_EQ(contents(scatter(ScatterReduction::add, vector({0, 0}), vector({1, 2}))), "[N + 3, 3, H, H]");
  EXPECT_EQ(contents(scatter(ScatterReduction::set, vector({4}), vector({7}))), "unknown");
  EXPECT_EQ(contents(b.emit_one(Scatter{1, ScatterReduction::set, true, 3},
                                {vector({2, 0}), b.integers({1, 2, N, 4}, {2, 2})})),
            "[2, 0, 1, 4, 0, N]");
  EXPECT_EQ(contents(b.emit_one(LinearIndex{{2, 5}}, {b.integers({1, 2, -1, -5}, {2, 2})})), "[7, 5]");
  EXPECT_EQ(contents(b.emit_one(LinearIndex{{2, 5}}, {b.integers({0, 5}, {1, 2})})), "unknown");
  EXPECT_EQ(contents(b.emit_one(CumSum{0, false, false}, {shape})), "[N, N + 3, H + N + 3, 2*H + N + 3]");
  EXPECT_EQ(contents(b.emit_one(CumSum{0, true, true}, {b.integers({1, N, 3, 4}, {2, 2})})), "[3, 4, 0, 0]");
  EXPECT_EQ(contents(iota(b, 4)), "[0, 1, 2, 3]");
}

TEST_F(ContentsTest, Arithmetic) {
  const Value n = number(N), h = number(H), two = number(2);
  EXPECT_EQ(contents(n * h + two), "[H*N + 2]");
  EXPECT_EQ(contents(vector({N, H}) * two), "[2*N, 2*H]");
  EXPECT_EQ(contents(n * 4.0 / two), "[2*N]");
  EXPECT_EQ(contents((n + 1.0) / two), "[floor((N + 1)/2)]");
  EXPECT_EQ(contents((n - h) / two), "unknown");  // may be negative: division truncates
  EXPECT_EQ(contents(number(-7) / two), "[-3]");
  EXPECT_EQ(contents(n / number(0)), "unknown");
  EXPECT_EQ(contents(-n), "[-N]");
  const auto apply = [](ScalarOp op) {
    return [op](const Scalar& x, const Scalar& y) { return Scalar::make(op, {x, y}); };
  };
  EXPECT_EQ(contents(map(apply(ScalarOp::mod), number(-7), number(4))), "[1]");
  EXPECT_EQ(contents(map(apply(ScalarOp::fmod), number(-7), number(4))), "[-3]");
  EXPECT_EQ(contents(map(apply(ScalarOp::mod), n * 4.0, number(2))), "[0]");
  EXPECT_EQ(contents(map(apply(ScalarOp::max), n, number(1))), "[N]");
  EXPECT_EQ(contents(map(apply(ScalarOp::max), n, number(2))), "unknown");
  EXPECT_EQ(contents(map(apply(ScalarOp::min), n + 1.0, n)), "[N]");
}

// torch.expand and views are exported as Where(shape == -1, ...).
TEST_F(ContentsTest, Choices) {
  const auto where = [](const Scalar& s, const Scalar& t) { return select(equal(s, -1.0), t, s); };
  EXPECT_EQ(contents(map(where, vector({N, -1, 5}), vector({7, H, 9}))), "[N, H, 5]");
  EXPECT_EQ(contents(map([](const Scalar& x) { return cast(x < 1, DataType::i64); }, vector({N, 0}))), "[0, 1]");
  EXPECT_EQ(contents(map([](const Scalar& x) { return cast(x < 5, DataType::i64); }, vector({N, 0}))), "unknown");
  EXPECT_EQ(contents(map([](const Scalar& x) { return equal(x, 5) && x < 0; }, vector({N}))), "[0]");
  EXPECT_EQ(contents(map([](const Scalar& x) { return !equal(x, 0); }, vector({N}))), "[1]");
}

TEST_F(ContentsTest, Casts) {
  const Value scaled = cast(vector({N, 6}), DataType::f32) * 2.0;
  EXPECT_EQ(
      contents(cast(map([](const Scalar& x) { return Scalar::make(ScalarOp::floor, {x}); }, scaled), DataType::i64)),
      "[2*N, 12]");
  EXPECT_EQ(contents(cast(cast(vector({6}), DataType::f32) * 0.5, DataType::i64)), "unknown");
  EXPECT_EQ(contents(cast(cast(vector({7}), DataType::f32) * b.scalar(2, DataType::f32), DataType::i32)), "[14]");
  EXPECT_EQ(contents(cast(vector({300}), DataType::u8)), "unknown");
  EXPECT_EQ(contents(cast(vector({N, 0}), DataType::boolean)), "[1, 0]");
  EXPECT_EQ(contents(b.constant(tensor_f32({2}, {1.5f, 2}))), "unknown");
}

TEST_F(ContentsTest, Overflow) {
  EXPECT_EQ(contents(number(INT64_MAX) * 4.0), "unknown");
  EXPECT_EQ(contents(number(INT64_MAX) + 1.0), "unknown");
}

TEST_F(ContentsTest, LargeTensorsAreNotLookedInto) {
  EXPECT_EQ(contents(expand(number(N), {1024})).size(), 1024 * 3);
  EXPECT_EQ(contents(expand(number(N), {1025})), "unknown");
  EXPECT_EQ(contents(expand(number(N), {N})), "unknown");
}

TEST(LowerBound, OfPolynomials) {
  EXPECT_EQ(lower_bound(Dim(-3)), -3);
  EXPECT_EQ(lower_bound(N * H + 2), 3);
  EXPECT_EQ(lower_bound(N - 5), -4);
  EXPECT_EQ(lower_bound(floor_div(N + 1, 2)), 1);
  EXPECT_EQ(lower_bound(floor_div(N * 3 + 4, 2) * H), 3);
  EXPECT_EQ(lower_bound(floor_div(N, H)), 0);
  EXPECT_FALSE(lower_bound(N - H).has_value());
  EXPECT_FALSE(lower_bound(-floor_div(N, 2)).has_value());
}

}  // namespace
}  // namespace arbalest
