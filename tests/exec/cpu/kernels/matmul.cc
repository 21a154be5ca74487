#include "tests/exec/cpu/kernels/reference.h"

namespace arbalest {
namespace {

struct MatMulCase {
  Dims a, b, y;
  bool transpose_a = false, transpose_b = false, bias = false;
};

// Element (i, j) of matrix `index` of t, whose leading axes broadcast; `transposed` swaps i and j.
double element(const HostTensor& t, const Dims& index, int64_t i, int64_t j, bool transposed) {
  const size_t rank = t.dims.size(), missing = index.size() - rank;
  int64_t flat = 0;
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    flat = flat * t.dims[axis] + (t.dims[axis] == 1 ? 0 : index[missing + axis]);
  }
  if (transposed) std::swap(i, j);
  return t.as<double>()[static_cast<size_t>((flat * t.dims[rank - 2] + i) * t.dims[rank - 1] + j)];
}

HostTensor expected_product(const MatMulCase& c, const HostTensor& a, const HostTensor& b, const HostTensor& bias) {
  HostTensor y(DataType::f64, c.y);
  const int64_t k = a.dims[a.dims.size() - (c.transpose_a ? 2 : 1)];
  size_t flat = 0;
  for_each_index(c.y, [&](const Dims& index) {
    const int64_t i = index[index.size() - 2], j = index.back();
    double sum = c.bias ? bias.as<double>()[static_cast<size_t>(j)] : 0;
    for (int64_t l = 0; l < k; ++l) {
      sum += element(a, index, i, l, c.transpose_a) * element(b, index, l, j, c.transpose_b);
    }
    y.as<double>()[flat++] = sum;
  });
  return y;
}

TEST(MatMulKernel, ComputesTheDefinition) {
  const MatMulCase cases[] = {
      {{3, 4}, {4, 5}, {3, 5}},
      {{3, 4}, {5, 4}, {3, 5}, false, true},
      {{4, 3}, {4, 5}, {3, 5}, true, false},
      {{4, 3}, {5, 4}, {3, 5}, true, true},
      {{2, 784}, {32, 784}, {2, 32}, false, true, true},
      {{16, 50}, {50, 10}, {16, 10}, false, false, true},
      {{64, 30}, {64, 20}, {30, 20}, true, false},
      {{1, 1}, {1, 1}, {1, 1}, false, false, true},
      {{5, 3, 4}, {4, 2}, {5, 3, 2}, false, false, true},
      {{5, 4, 3}, {4, 2}, {5, 3, 2}, true, false},
      {{5, 3, 4}, {5, 4, 2}, {5, 3, 2}},
      {{5, 1, 3, 4}, {2, 4, 6}, {5, 2, 3, 6}},
      {{3, 4}, {2, 3, 6, 4}, {2, 3, 3, 6}, false, true, true},
      {{2, 1, 4, 3}, {1, 3, 4, 5}, {2, 3, 3, 5}, true, false},
      {{0, 4}, {4, 5}, {0, 5}, false, false, true},
      {{3, 0}, {0, 5}, {3, 5}},
      {{3, 0}, {0, 5}, {3, 5}, false, false, true},
      {{2, 3, 4}, {2, 4, 0}, {2, 3, 0}},
      {{0, 3, 4}, {4, 5}, {0, 3, 5}},
  };
  std::mt19937 random(1);
  for (const MatMulCase& c : cases) {
    SCOPED_TRACE(to_string(c.a) + " * " + to_string(c.b));
    std::vector<HostTensor> inputs = {random_values(random, c.a), random_values(random, c.b)};
    if (c.bias) inputs.push_back(random_values(random, {c.y.back()}));
    const MatMul primitive{c.transpose_a, c.transpose_b, c.bias};
    const auto y = run_in_both(primitive, random, inputs, {wide_type(c.y)}, 1e-6);
    expect_near(y[0], expected_product(c, inputs[0], inputs[1], inputs.back()), 1e-13, "y");
  }
}

TEST(MatMulKernel, SeveralThreadsAgree) {
  std::mt19937 random(2);
  const MatMulCase c{{64, 200}, {150, 200}, {64, 150}, false, true, true};
  const std::vector<HostTensor> inputs = {random_values(random, c.a), random_values(random, c.b),
                                          random_values(random, {150})};
  const auto y = run_in_both(MatMul{false, true, true}, random, inputs, {wide_type(c.y)}, 1e-6, 2);
  expect_near(y[0], expected_product(c, inputs[0], inputs[1], inputs[2]), 1e-13, "y");
}

}  // namespace
}  // namespace arbalest
