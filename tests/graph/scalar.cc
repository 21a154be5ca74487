#include "graph/scalar.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "graph/base/error.h"

namespace arbalest {
namespace {

constexpr DataType kF32 = DataType::f32;
constexpr DataType kF64 = DataType::f64;
constexpr DataType kI64 = DataType::i64;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Scalar input(int i, DataType t = kF64) { return Scalar::input(i, t); }
Scalar unary(ScalarOp op, const Scalar& x) { return Scalar::make(op, {x}); }
Scalar binary(ScalarOp op, const Scalar& a, const Scalar& b) { return Scalar::make(op, {a, b}); }
double at(const Scalar& e, std::initializer_list<double> x) { return evaluate(e, std::vector<double>(x)); }
double slope(const Scalar& e, std::initializer_list<double> x, int i = 0) { return at(derivative(e, i), x); }

void expect_slope(const Scalar& e, std::vector<double> x) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double h = 1e-6 * std::max(1.0, std::fabs(x[i]));
    std::vector<double> up = x, down = x;
    up[i] += h;
    down[i] -= h;
    const double expected = (evaluate(e, up) - evaluate(e, down)) / (2 * h);
    const double got = evaluate(derivative(e, static_cast<int>(i)), x);
    EXPECT_NEAR(got, expected, 2e-8 * std::max(1.0, std::fabs(expected)))
        << to_string(e) << " by x" << i << ": " << to_string(derivative(e, static_cast<int>(i)));
  }
}

TEST(ScalarDerivative, EveryUnaryOperationMatchesCentralDifferences) {
  for (int op = static_cast<int>(ScalarOp::neg); op <= static_cast<int>(ScalarOp::atanh); ++op) {
    for (const double x : {-2.3, -0.7, -0.2, 0.15, 0.6, 1.4, 3.1}) {
      const Scalar e = unary(static_cast<ScalarOp>(op), input(0));
      if (std::isnan(at(e, {x}))) continue;  // outside the domain
      expect_slope(e, {x});
      expect_slope(unary(static_cast<ScalarOp>(op), 0.5 * input(0) * input(1)), {x, 2.0});  // chain rule
    }
  }
}

TEST(ScalarDerivative, EveryBinaryOperationMatchesCentralDifferences) {
  for (int op = static_cast<int>(ScalarOp::add); op <= static_cast<int>(ScalarOp::max); ++op) {
    for (const auto& x :
         std::vector<std::vector<double>>{{1.7, 0.6}, {0.4, 2.2}, {3.3, -1.2}, {-2.5, 0.7}, {-1.9, -0.8}}) {
      const Scalar e = binary(static_cast<ScalarOp>(op), input(0), input(1));
      if (std::isnan(evaluate(e, x))) continue;
      expect_slope(e, x);
      expect_slope(binary(static_cast<ScalarOp>(op), tanh(input(0)) + 2, exp(input(1))), x);
    }
  }
  for (const double exponent : {-2.5, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0, 7.0, 9.0})
    expect_slope(pow(input(0), exponent), {1.3});
  expect_slope(input(0) * input(0), {1.3});
  expect_slope(input(0) / input(0) + input(0), {1.3});
}

TEST(ScalarDerivative, SelectPassesToTheBranchTaken) {
  const Scalar x = input(0), y = input(1);
  const Scalar e = select(x < y, x * x, 3 * y);
  expect_slope(e, {1.0, 2.0});
  expect_slope(e, {2.0, 1.0});
  EXPECT_EQ(slope(select(x < 1, x, 2 * x), {1.0}), 2);
}

TEST(ScalarDerivative, TiesAndKinks) {
  const Scalar x = input(0), y = input(1);
  EXPECT_EQ(slope(min(x, y), {2, 2}, 0), 0.5);
  EXPECT_EQ(slope(max(x, y), {2, 2}, 1), 0.5);
  EXPECT_EQ(slope(max(x, Scalar::constant(2.0, kF64)), {2}), 0.5);
  EXPECT_EQ(slope(relu(x), {0}), 0);
  EXPECT_EQ(slope(abs(x), {0}), 0);
  EXPECT_EQ(slope(pow(x, y), {2, 0}, 0), 0);
  EXPECT_EQ(slope(pow(x, y), {0, 2}, 1), 0);
  EXPECT_EQ(slope(pow(x, y), {0, 0}, 0), 0);
}

TEST(ScalarDerivative, NothingFlowsThroughStepsAndIntegers) {
  const Scalar x = input(0);
  for (const ScalarOp op : {ScalarOp::floor, ScalarOp::ceil, ScalarOp::round, ScalarOp::sign})
    EXPECT_EQ(derivative(unary(op, x), 0), Scalar::constant(0.0, kF64));
  EXPECT_EQ(derivative(cast(cast(x, kI64), kF64), 0), Scalar::constant(0.0, kF64));
  EXPECT_EQ(derivative(cast(x < 1, kF64), 0), Scalar::constant(0.0, kF64));
  EXPECT_EQ(derivative(x * 2, 1), Scalar::constant(0.0, kF64));
  EXPECT_EQ(derivative(cast(input(0, kF32), kF64), 0), Scalar::constant(1.0, kF64));
}

TEST(ScalarDerivative, IsExpressedByTheResult) {
  const Scalar x = input(0, kF32), y = input(1, kF32);
  const auto by_result = [&](const Scalar& e) { return to_string(replace(derivative(e, 0), e, y)); };
  EXPECT_EQ(by_result(exp(x)), "x1");
  EXPECT_EQ(by_result(tanh(x)), "1 - x1 * x1");
  EXPECT_EQ(by_result(sigmoid(x)), "x1 * (1 - x1)");
  EXPECT_EQ(by_result(relu(x)), "select(x1 > 0, 1, 0)");
  EXPECT_EQ(by_result(sqrt(x)), "0.5 / x1");
  EXPECT_EQ(by_result(reciprocal(x)), "-(x1 * x1)");
  EXPECT_EQ(by_result(unary(ScalarOp::expm1, x)), "x1 + 1");
  EXPECT_EQ(to_string(input(2, kF32) * replace(derivative(relu(x), 0), relu(x), y)), "select(x1 > 0, x2, 0)");
}

TEST(Scalar, Simplifies) {
  const Scalar x = input(0), y = input(1), n = input(2, kI64);
  const Scalar zero = Scalar::constant(0.0, kF64);
  EXPECT_EQ(x * 1, x);
  EXPECT_EQ(x + 0, x);
  EXPECT_EQ(x * 0, zero);
  EXPECT_EQ(-(-x), x);
  EXPECT_EQ(0 - x, -x);
  EXPECT_EQ(x + -y, x - y);
  EXPECT_EQ(-(x - y), y - x);
  EXPECT_EQ((-x) * (-y), x * y);
  EXPECT_EQ(x / 4, 0.25 * x);
  EXPECT_EQ((x / 3).op(), ScalarOp::div);
  EXPECT_EQ(1 / x, reciprocal(x));
  EXPECT_EQ(2 * (0.1 * x), 0.2 * x);
  EXPECT_EQ(pow(x, 1), x);
  EXPECT_EQ(pow(x, 2), x * x);
  EXPECT_EQ(pow(x, 0.5), sqrt(x));
  EXPECT_EQ(pow(x, -1), reciprocal(x));
  EXPECT_EQ(pow(x, 0), Scalar::constant(1.0, kF64));
  EXPECT_EQ(pow(x, 4).node_count(), 3u);
  EXPECT_EQ(select(x < y, x, x), x);
  EXPECT_EQ(select(!(x < y), x, y), select(x < y, y, x));
  EXPECT_EQ(select(Scalar::constant(int64_t{1}, DataType::boolean), x, y), x);
  EXPECT_EQ(min(x, x), x);
  EXPECT_EQ(relu(relu(x)), relu(x));
  EXPECT_EQ(!!(x < y), x < y);
  EXPECT_EQ((n + 3) + 4, n + 7);
  EXPECT_EQ(n - n, Scalar::constant(int64_t{0}, kI64));
  EXPECT_EQ(cast(cast(input(0, kF32), kF64), kF32), input(0, kF32));
  EXPECT_FALSE(cast(cast(x, kF32), kF64) == x);
  EXPECT_EQ(unary(ScalarOp::is_nan, n), Scalar::constant(int64_t{0}, DataType::boolean));
  EXPECT_EQ(exp(zero), Scalar::constant(1.0, kF64));
  EXPECT_EQ(Scalar::constant(0.1, kF32).value(), static_cast<double>(0.1f));
  EXPECT_EQ((Scalar::constant(0.1, kF32) + 0.2).value(), static_cast<double>(0.1f + 0.2f));
}

TEST(Scalar, EqualityIsStructural) {
  const auto build = [] { return exp(input(0) * 2) + input(1); };
  EXPECT_EQ(build(), build());
  EXPECT_EQ(build().hash(), build().hash());
  EXPECT_FALSE(build() == exp(input(0) * 2) + input(2));
  EXPECT_FALSE(input(0, kF32) == input(0, kF64));
  EXPECT_EQ((build() * build()).node_count(), 7u);
}

TEST(Scalar, Prints) {
  const Scalar x = input(0, kF32), y = input(1, kF32), n = input(2, kI64);
  EXPECT_EQ(to_string(select(x < 0, 0.01 * x, x)), "select(x0 < 0, 0.01 * x0, x0)");
  EXPECT_EQ(to_string((x + y) * 2), "2 * (x0 + x1)");
  EXPECT_EQ(to_string(x - (y - 1)), "x0 - (x1 - 1)");
  EXPECT_EQ(to_string(x - y - 1), "x0 - x1 - 1");
  EXPECT_EQ(to_string(x / (x * y)), "x0 / (x0 * x1)");
  EXPECT_EQ(to_string(-(x * y)), "-(x0 * x1)");
  EXPECT_EQ(to_string(x >= 0.5), "x0 >= 0.5");
  EXPECT_EQ(to_string(x < y || !(y < 1 && equal(x, 2))), "x0 < x1 || !(x1 < 1 && x0 == 2)");
  EXPECT_EQ(to_string(cast(n, kF32) + max(x, y)), "float32(x2) + max(x0, x1)");
  EXPECT_EQ(to_string(pow(x, 2.5)), "pow(x0, 2.5)");
  EXPECT_EQ(to_string(Scalar::constant(int64_t{-1}, DataType::u64)), "18446744073709551615");
  EXPECT_EQ(to_string(select(x < y, n, 3)), "select(x0 < x1, x2, 3)");
  EXPECT_EQ(to_string(Scalar::constant(-kInf, kF32)), "-inf");
}

TEST(Scalar, Evaluates) {
  const Scalar x = input(0), y = input(1);
  EXPECT_EQ(at(unary(ScalarOp::round, x), {2.5}), 2);
  EXPECT_EQ(at(unary(ScalarOp::round, x), {-3.5}), -4);
  EXPECT_EQ(at(binary(ScalarOp::mod, x, y), {-7, 3}), 2);
  EXPECT_EQ(at(binary(ScalarOp::fmod, x, y), {-7, 3}), -1);
  EXPECT_TRUE(std::isnan(at(min(x, y), {kNan, 1})));
  EXPECT_TRUE(std::isnan(at(max(x, y), {1, kNan})));
  EXPECT_TRUE(std::isnan(at(relu(x), {kNan})));
  EXPECT_EQ(at(cast(x, DataType::u8), {300}), 255);
  EXPECT_EQ(at(cast(x, DataType::i32), {-1e30}), -2147483648.0);
  EXPECT_EQ(at(cast(x, kI64), {kNan}), 0);
  EXPECT_EQ(at(cast(cast(x, DataType::bf16), kF64), {1.00390625}), 1.0);

  const Scalar a = input(0, DataType::i8), b = input(1, DataType::i8);
  EXPECT_EQ(at(a + b, {100, 100}), -56);
  EXPECT_EQ(at(a / b, {-7, 2}), -3);
  EXPECT_EQ(at(a / b, {5, 0}), 0);
  EXPECT_EQ(at(a / b, {-128, -1}), -128);
  EXPECT_EQ(at(binary(ScalarOp::mod, a, b), {-7, 3}), 2);
  EXPECT_EQ(at(binary(ScalarOp::shift_right, a, b), {-7, 100}), -1);
  EXPECT_EQ(at(binary(ScalarOp::pow, a, b), {2, -1}), 0);
  const Scalar u = input(0, DataType::u64);
  EXPECT_EQ(evaluate(u - 1 < u, std::vector<double>{0}), 0);  // wraps to the greatest
}

TEST(Scalar, Substitutes) {
  const Scalar x = input(0), y = input(1);
  EXPECT_EQ(substitute(x * y + x, std::vector<Scalar>{y, exp(x)}), y * exp(x) + y);
  EXPECT_EQ(substitute(x * y, std::vector<Scalar>{x, Scalar::constant(1.0, kF64)}), x);
  EXPECT_EQ(replace(exp(x) * (exp(x) + 1), exp(x), y), y * (y + 1));
  EXPECT_TRUE(uses_input(x * y, 1));
  EXPECT_FALSE(uses_input(x * 2, 1));
}

TEST(Scalar, ChecksTypes) {
  EXPECT_THROW(input(0, kF32) + input(1, kF64), Error);
  EXPECT_THROW(select(input(0), input(0), input(1)), Error);
  EXPECT_THROW(exp(input(0, kI64)), Error);
  EXPECT_THROW(!input(0), Error);
  EXPECT_THROW(Scalar::make(ScalarOp::add, {input(0)}), Error);
  EXPECT_THROW(input(0).value(), Error);
  EXPECT_THROW(evaluate(input(1), std::vector<double>{0}), Error);
}

// x <- f(x, x) a thousand times has 2^1000 paths; a chain of 200,000 nodes is deeper than the call stack.
TEST(Scalar, WalksAreLinear) {
  const Scalar x = input(0);
  Scalar shared = x;
  for (int i = 0; i < 1000; ++i) shared = shared * 0.5 + tanh(shared) * shared;
  EXPECT_GT(shared.node_count(), 1000u);
  EXPECT_LT(derivative(shared, 0).node_count(), 20000u);
  EXPECT_TRUE(std::isfinite(at(derivative(shared, 0), {0.1})));
  EXPECT_LT(to_string(shared).size(), 200000u);
  EXPECT_EQ(substitute(substitute(shared, std::vector<Scalar>{x + 1}), std::vector<Scalar>{x - 1}).node_count(),
            shared.node_count() + 3);

  Scalar chain = x;
  for (int i = 0; i < 200000; ++i) chain = exp(chain);
  Scalar same = x;
  for (int i = 0; i < 200000; ++i) same = exp(same);
  EXPECT_TRUE(chain == same);
  chain = relu(x);
  for (int i = 0; i < 20000; ++i) chain = relu(chain + 1);
  EXPECT_EQ(at(derivative(chain, 0), {1.0}), 1);
}

}  // namespace
}  // namespace arbalest
