// What the tests of computing kernels share: runs in both precisions, and derivatives by central differences.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/exec/kernel_harness.h"

namespace arbalest {

// float64 values that float32 represents, so that both precisions compute with the same numbers.
inline HostTensor random_values(std::mt19937& random, const Dims& dims) {
  return random_tensor(random, DataType::f32, dims).to(DataType::f64);
}

// Largest difference, relative to the greatest expected magnitude (at least 1). NaN equals NaN.
inline void expect_near(const HostTensor& got, const HostTensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(got.dims, expected.dims) << what;
  const HostTensor g = got.to(DataType::f64), e = expected.to(DataType::f64);
  double scale = 1;
  for (const double v : e.as<double>())
    if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
  for (size_t i = 0; i < g.as<double>().size(); ++i) {
    const double a = g.as<double>()[i], b = e.as<double>()[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_LE(std::abs(a - b), tolerance * scale) << what << ", element " << i << ": " << a << ", expected " << b;
  }
}

// Runs in float64 and in float32, inputs in any layouts, and expects that the two agree. `inputs` and `outputs` name
// float64 where the kernel has a choice. Gives the float64 results.
template <class P>
std::vector<HostTensor> run_in_both(const P& primitive, std::mt19937& random, const std::vector<HostTensor>& inputs,
                                    const std::vector<TensorType>& outputs, double tolerance, int threads = 1) {
  std::vector<HostTensor> results[2];
  for (const bool wide : {true, false}) {
    const auto type = [&](DataType t) { return t == DataType::f64 && !wide ? DataType::f32 : t; };
    std::vector<KernelInput> in;
    for (const HostTensor& t : inputs) in.push_back({t.to(type(t.dtype)), random_layout(random, t.dims), false});
    KernelOptions options;
    options.threads = threads;
    for (const TensorType& t : outputs) options.outputs.push_back({type(t.dtype), t.shape});
    results[wide] = run_kernel(primitive, in, options).outputs;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dtype == DataType::f64) {
      expect_near(results[false][i], results[true][i], tolerance, fmt::format("float32 output {}", i));
    } else {
      EXPECT_EQ(results[false][i], results[true][i]) << "output " << i;
    }
  }
  return results[true];
}

// Output 0 in float64.
template <class P>
HostTensor run_wide(const P& primitive, const std::vector<HostTensor>& inputs, const std::vector<TensorType>& outputs) {
  std::vector<KernelInput> in;
  for (const HostTensor& t : inputs) in.push_back({t, std::nullopt, false});
  KernelOptions options;
  options.outputs = outputs;
  return run_kernel(primitive, in, options).outputs[0];
}

inline double dot(const HostTensor& a, const HostTensor& b) {
  double sum = 0;
  for (size_t i = 0; i < a.as<double>().size(); ++i) sum += a.as<double>()[i] * b.as<double>()[i];
  return sum;
}

// d loss / d x by central differences.
inline HostTensor numeric_gradient(HostTensor x, const std::function<double(const HostTensor&)>& loss) {
  constexpr double kStep = 1e-5;
  HostTensor gradient(DataType::f64, x.dims);
  for (size_t i = 0; i < gradient.as<double>().size(); ++i) {
    double& value = x.as<double>()[i];
    const double at = value;
    value = at + kStep;
    const double up = loss(x);
    value = at - kStep;
    gradient.as<double>()[i] = (up - loss(x)) / (2 * kStep);
    value = at;
  }
  return gradient;
}

inline TensorType wide_type(const Dims& dims) { return {DataType::f64, Shape(dims)}; }

}  // namespace arbalest
