#include "graph/primitives/pool.h"

#include <numeric>

#include "tests/exec/cpu/kernels/reference.h"

namespace arbalest {
namespace {

struct PoolCase {
  const char* name;
  Dims x, kernel, strides, dilations, begin, end;
  bool ceil_mode = false;
};

const PoolCase kPoolCases[] = {
    {"2x2", {2, 20, 6, 6}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {"3x3 stride 2", {2, 9, 7, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {"overlapping", {2, 16, 5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"asymmetric", {1, 5, 6, 5}, {3, 2}, {1, 2}, {1, 1}, {2, 0}, {0, 1}},
    {"ceil", {2, 8, 6, 7}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, true},
    {"ceil with pads", {2, 3, 5, 6}, {3, 2}, {2, 3}, {1, 1}, {1, 1}, {1, 1}, true},
    {"dilated", {2, 4, 8, 7}, {2, 3}, {1, 1}, {3, 2}, {1, 2}, {1, 2}},
    {"global", {2, 64, 8, 8}, {8, 8}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {"gaps between windows", {2, 3, 9, 9}, {2, 2}, {4, 3}, {1, 1}, {0, 0}, {0, 0}},
    {"1-D", {3, 7, 11}, {3}, {2}, {1}, {1}, {0}},
    {"3-D", {1, 6, 4, 5, 4}, {2, 3, 2}, {2, 1, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 0}},
    {"no images", {0, 4, 4, 4}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
};

Window pool_window(const PoolCase& c) { return {c.strides, c.dilations, c.begin, c.end}; }

Dims output_dims(const PoolCase& c) {
  Dims y = {c.x[0], c.x[1]};
  for (size_t i = 0; i < c.kernel.size(); ++i) {
    y.push_back(window_output(pool_window(c), static_cast<int>(i), c.x[2 + i], c.kernel[i], c.ceil_mode).value());
  }
  return y;
}

int64_t flat_index(const Dims& dims, const Dims& index) {
  int64_t flat = 0;
  for (size_t i = 0; i < dims.size(); ++i) flat = flat * dims[i] + index[i];
  return flat;
}

// Calls f(place in the kernel, row-major index into x, or -1 in the padding) for each place of the window at `o`;
// places beyond the end padding, which ceil_mode makes, are left out.
template <class F>
void for_window(const PoolCase& c, const Dims& o, F&& f) {
  int64_t place = 0;
  for_each_index(c.kernel, [&](const Dims& k) {
    Dims at = {o[0], o[1]};
    bool inside = true, beyond = false;
    for (size_t i = 0; i < k.size(); ++i) {
      at.push_back(o[2 + i] * c.strides[i] - c.begin[i] + k[i] * c.dilations[i]);
      inside &= at.back() >= 0 && at.back() < c.x[2 + i];
      beyond |= at.back() >= c.x[2 + i] + c.end[i];
    }
    if (!beyond) f(place, inside ? flat_index(c.x, at) : -1);
    ++place;
  });
}

struct ExpectedPool {
  HostTensor y, dx, position;
};

ExpectedPool expected_max(const PoolCase& c, const HostTensor& x, const HostTensor& dy) {
  const Dims dims = output_dims(c);
  ExpectedPool e{HostTensor(DataType::f64, dims), HostTensor(DataType::f64, c.x), HostTensor(DataType::i32, dims)};
  size_t i = 0;
  for_each_index(dims, [&](const Dims& o) {
    int64_t best = -1;
    for_window(c, o, [&](int64_t place, int64_t at) {
      if (at < 0) return;
      if (best >= 0 && !(x.as<double>()[static_cast<size_t>(at)] > x.as<double>()[static_cast<size_t>(best)])) return;
      best = at;
      e.position.as<int32_t>()[i] = static_cast<int32_t>(place);
    });
    e.y.as<double>()[i] = x.as<double>()[static_cast<size_t>(best)];
    e.dx.as<double>()[static_cast<size_t>(best)] += dy.as<double>()[i++];
  });
  return e;
}

ExpectedPool expected_average(const PoolCase& c, bool count_pad, const HostTensor& x, const HostTensor& dy) {
  const Dims dims = output_dims(c);
  ExpectedPool e{HostTensor(DataType::f64, dims), HostTensor(DataType::f64, c.x), {}};
  size_t i = 0;
  for_each_index(dims, [&](const Dims& o) {
    double divisor = 0;
    for_window(c, o, [&](int64_t, int64_t at) { divisor += count_pad || at >= 0; });
    for_window(c, o, [&](int64_t, int64_t at) {
      if (at < 0) return;
      e.y.as<double>()[i] += x.as<double>()[static_cast<size_t>(at)] / divisor;
      e.dx.as<double>()[static_cast<size_t>(at)] += dy.as<double>()[i] / divisor;
    });
    ++i;
  });
  return e;
}

TEST(MaxPoolKernel, ComputesTheDefinition) {
  std::mt19937 random(1);
  for (const PoolCase& c : kPoolCases) {
    SCOPED_TRACE(c.name);
    const Dims y = output_dims(c);
    HostTensor x = random_values(random, c.x);
    for (double& v : x.as<double>()) v = std::round(2 * v) / 2;  // many equal values: the first wins
    const HostTensor dy = random_values(random, y);
    const ExpectedPool e = expected_max(c, x, dy);
    const Shape kernel(c.kernel), spatial(Dims(c.x.begin() + 2, c.x.end()));
    const auto forward = run_in_both(MaxPool{pool_window(c), kernel, c.ceil_mode}, random, {x},
                                     {wide_type(y), {DataType::i32, Shape(y)}}, 0);
    EXPECT_EQ(forward[0], e.y);
    EXPECT_EQ(forward[1], e.position);
    const MaxPoolBackward backward{pool_window(c), kernel, c.ceil_mode, spatial};
    expect_near(run_in_both(backward, random, {dy, e.position}, {wide_type(c.x)}, 1e-6)[0], e.dx, 1e-14, "dx");
  }
}

TEST(MaxPoolKernel, InfinitiesAndNan) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::mt19937 random(2);
  HostTensor x(DataType::f64, {1, 1, 8}), y(DataType::f64, {1, 1, 4}), position(DataType::i32, {1, 1, 4});
  const double values[] = {-inf, -inf, -inf, 3, nan, 1, 2, nan}, expected[] = {-inf, 3, nan, nan};
  const int32_t places[] = {0, 1, 0, 1};
  std::copy(std::begin(values), std::end(values), x.as<double>().begin());
  std::copy(std::begin(expected), std::end(expected), y.as<double>().begin());
  std::copy(std::begin(places), std::end(places), position.as<int32_t>().begin());
  const MaxPool pool{{{2}, {1}, {0}, {0}}, Shape(Dims{2}), false};
  const auto got = run_in_both(pool, random, {x}, {wide_type({1, 1, 4}), {DataType::i32, Shape(Dims{1, 1, 4})}}, 0);
  expect_near(got[0], y, 0, "y");
  EXPECT_EQ(got[1], position);
}

TEST(AveragePoolKernel, ComputesTheDefinition) {
  std::mt19937 random(3);
  for (const PoolCase& c : kPoolCases) {
    for (const bool count_pad : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, padding counts: {}", c.name, count_pad));
      const Dims y = output_dims(c);
      const HostTensor x = random_values(random, c.x), dy = random_values(random, y);
      const ExpectedPool e = expected_average(c, count_pad, x, dy);
      const Shape kernel(c.kernel), spatial(Dims(c.x.begin() + 2, c.x.end()));
      const AveragePool forward{pool_window(c), kernel, c.ceil_mode, count_pad};
      expect_near(run_in_both(forward, random, {x}, {wide_type(y)}, 1e-6)[0], e.y, 1e-14, "y");
      const AveragePoolBackward backward{pool_window(c), kernel, c.ceil_mode, count_pad, spatial};
      expect_near(run_in_both(backward, random, {dy}, {wide_type(c.x)}, 1e-6)[0], e.dx, 1e-14, "dx");
    }
  }
}

TEST(PoolKernels, SeveralThreadsAgree) {
  std::mt19937 random(4);
  const PoolCase c{"", {5, 24, 16, 16}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
  const Dims y = output_dims(c);
  const HostTensor x = random_values(random, c.x), dy = random_values(random, y);
  const ExpectedPool max = expected_max(c, x, dy), average = expected_average(c, true, x, dy);
  const Shape kernel(c.kernel), spatial(Dims{16, 16});
  const auto forward =
      run_in_both(MaxPool{pool_window(c), kernel, false}, random, {x}, {wide_type(y), {DataType::i32, Shape(y)}}, 0, 2);
  EXPECT_EQ(forward[0], max.y);
  expect_near(run_in_both(MaxPoolBackward{pool_window(c), kernel, false, spatial}, random, {dy, max.position},
                          {wide_type(c.x)}, 1e-6, 2)[0],
              max.dx, 1e-14, "dx");
  expect_near(run_in_both(AveragePool{pool_window(c), kernel, false, true}, random, {x}, {wide_type(y)}, 1e-6, 2)[0],
              average.y, 1e-14, "average");
  expect_near(run_in_both(AveragePoolBackward{pool_window(c), kernel, false, true, spatial}, random, {dy},
                          {wide_type(c.x)}, 1e-6, 2)[0],
              average.dx, 1e-14, "average dx");
}

}  // namespace
}  // namespace arbalest
