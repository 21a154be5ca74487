// CumSum and TopK against their definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/base/error.h"
#include "tests/exec/kernel_harness.h"

namespace arbalest {
namespace {

constexpr DataType kOrderTypes[] = {DataType::f32, DataType::f64, DataType::i64, DataType::i32,
                                    DataType::i16, DataType::u8,  DataType::u32};

// One line of a tensor along an axis: line n of as many as there are, as doubles.
std::vector<double> line(const HostTensor& t, int axis, int64_t n) {
  const HostTensor wide = t.to(DataType::f64);
  const auto a = static_cast<size_t>(axis);
  const int64_t inner = row_major_strides(t.dims)[a], size = t.dims[a];
  std::vector<double> result;
  for (int64_t i = 0; i < size; ++i) {
    result.push_back(wide.as<double>()[static_cast<size_t>((n / inner * size + i) * inner + n % inner)]);
  }
  return result;
}

int64_t lines(const HostTensor& t, int axis) {
  Dims rest = t.dims;
  rest.erase(rest.begin() + axis);
  return element_count(rest);
}

TEST(CumSum, EqualsTheDefinition) {
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    const DataType type = kOrderTypes[static_cast<size_t>(i) % std::size(kOrderTypes)];
    const HostTensor x = random_tensor(random, type, random_dims(random, 1 + static_cast<int>(random() % 4)));
    const CumSum p{static_cast<int>(random() % x.dims.size()), random() % 2 == 0, random() % 2 == 0};
    KernelOptions o;
    o.outputs = {{type, Shape(x.dims)}};
    o.threads = 1 + static_cast<int>(random() % 2);
    const HostTensor y = run_kernel(p, {{x, random_layout(random, x.dims)}}, o).outputs[0];
    for (int64_t n = 0; n < lines(x, p.axis); ++n) {
      std::vector<double> in = line(x, p.axis, n), out = line(y, p.axis, n);
      if (p.reverse) std::reverse(in.begin(), in.end()), std::reverse(out.begin(), out.end());
      double sum = 0;
      for (size_t k = 0; k < in.size(); ++k) {
        const double before = sum;
        sum += in[k];
        EXPECT_NEAR(out[k], p.exclusive ? before : sum, 1e-6);
      }
    }
  }
}

TEST(CumSum, LargeOnTwoThreadsIsWhatOneThreadGives) {
  std::mt19937 random(2);
  const HostTensor x = random_tensor(random, DataType::f32, {3, 200, 130});
  KernelOptions o;
  o.outputs = {{DataType::f32, Shape(x.dims)}};
  const HostTensor one = run_kernel(CumSum{1, false, false}, {{x, {}}}, o).outputs[0];
  o.threads = 2;
  EXPECT_EQ(run_kernel(CumSum{1, false, false}, {{x, {}}}, o).outputs[0], one);
}

TEST(CumSum, IntegersWrapAround) {
  const HostTensor x = HostTensor::i64({2}, std::vector<int64_t>{INT64_MAX, 1});
  KernelOptions o;
  o.outputs = {{DataType::i64, Shape{2}}};
  EXPECT_EQ(run_kernel(CumSum{}, {{x, {}}}, o).outputs[0].as<int64_t>()[1], INT64_MIN);
}

struct TopKResult {
  HostTensor values, indices;
};

TopKResult run_top_k(const TopK& p, const KernelInput& x, int threads) {
  Dims dims = x.tensor.dims;
  dims[static_cast<size_t>(p.axis)] = p.k.value();
  KernelOptions o;
  o.outputs = {{x.tensor.dtype, Shape(dims)}, {DataType::i64, Shape(dims)}};
  o.threads = threads;
  const KernelResult r = run_kernel(p, {x}, o);
  return {r.outputs[0], r.outputs[1]};
}

TEST(TopK, EqualsAStableSort) {
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i) {
    const DataType type = kOrderTypes[static_cast<size_t>(i) % std::size(kOrderTypes)];
    // Half of the cases have many equal values.
    const DataType drawn = random() % 2 ? DataType::i8 : type;
    const HostTensor x = random_tensor(random, drawn, random_dims(random, 1 + static_cast<int>(random() % 4))).to(type);
    TopK p{static_cast<int>(random() % x.dims.size()), 0, random() % 2 == 0};
    p.k = Dim(static_cast<int64_t>(random() % static_cast<uint64_t>(x.dims[static_cast<size_t>(p.axis)] + 1)));
    const TopKResult y = run_top_k(p, {x, random_layout(random, x.dims)}, 1 + static_cast<int>(random() % 2));
    for (int64_t n = 0; p.k.value() > 0 && n < lines(x, p.axis); ++n) {
      const std::vector<double> in = line(x, p.axis, n);
      std::vector<size_t> order(in.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return p.largest ? in[a] > in[b] : in[a] < in[b]; });
      const std::vector<double> values = line(y.values, p.axis, n), indices = line(y.indices, p.axis, n);
      for (size_t k = 0; k < values.size(); ++k) {
        EXPECT_EQ(values[k], in[order[k]]);
        EXPECT_EQ(indices[k], static_cast<double>(order[k]));
      }
    }
  }
}

TEST(TopK, NanIsGreaterThanEveryNumber) {
  const HostTensor x = HostTensor::f32({5}, std::vector<float>{1, NAN, INFINITY, NAN, -3});
  const auto order = [&](bool largest) {
    const HostTensor indices = run_top_k(TopK{0, 5, largest}, {x, {}}, 1).indices;
    return std::vector<int64_t>(indices.as<int64_t>().begin(), indices.as<int64_t>().end());
  };
  EXPECT_EQ(order(true), (std::vector<int64_t>{1, 3, 2, 0, 4}));
  EXPECT_EQ(order(false), (std::vector<int64_t>{4, 0, 2, 1, 3}));
}

TEST(TopK, LargeOnTwoThreadsIsWhatOneThreadGives) {
  std::mt19937 random(4);
  const HostTensor x = random_tensor(random, DataType::f32, {70, 1000});
  const TopKResult one = run_top_k(TopK{1, 9, true}, {x, {}}, 1), two = run_top_k(TopK{1, 9, true}, {x, {}}, 2);
  EXPECT_EQ(one.values, two.values);
  EXPECT_EQ(one.indices, two.indices);
}

}  // namespace
}  // namespace arbalest
