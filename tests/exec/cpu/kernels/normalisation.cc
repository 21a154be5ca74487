#include "tests/exec/cpu/kernels/reference.h"

namespace arbalest {
namespace {

struct Normalised {
  HostTensor y, mean, variance;
};

Normalised expected_batch_norm(const HostTensor& x, const HostTensor& scale, const HostTensor& bias, double epsilon) {
  const int64_t channels = x.dims[1];
  const auto per_channel = static_cast<double>(x.element_count() / channels);
  const int64_t inner = x.element_count() / (x.dims[0] * channels);
  Normalised n{HostTensor(DataType::f64, x.dims), HostTensor(DataType::f64, {channels}),
               HostTensor(DataType::f64, {channels})};
  const auto mean = n.mean.as<double>(), variance = n.variance.as<double>();
  const auto values = std::as_const(x).as<double>();
  const auto channel = [&](size_t i) { return static_cast<size_t>(static_cast<int64_t>(i) / inner % channels); };
  for (size_t i = 0; i < values.size(); ++i) mean[channel(i)] += values[i] / per_channel;
  for (size_t i = 0; i < values.size(); ++i) {
    variance[channel(i)] += std::pow(values[i] - mean[channel(i)], 2) / per_channel;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = channel(i);
    n.y.as<double>()[i] =
        (values[i] - mean[c]) / std::sqrt(variance[c] + epsilon) * scale.as<double>()[c] + bias.as<double>()[c];
  }
  return n;
}

constexpr float kEpsilon = 1e-3f;

TEST(BatchNormKernel, ComputesTheDefinitionAndItsDerivatives) {
  std::mt19937 random(1);
  for (const Dims& dims : {Dims{4, 3}, Dims{2, 8, 5}, Dims{3, 20, 2, 3}, Dims{2, 35, 3, 2}, Dims{2, 5, 2, 3, 2},
                           Dims{1, 7, 1, 2}, Dims{9, 1, 1, 1}}) {
    SCOPED_TRACE(to_string(dims));
    const Dims channel = {dims[1]};
    const HostTensor x = random_values(random, dims), dy = random_values(random, dims);
    const HostTensor scale = random_values(random, channel), bias = random_values(random, channel);
    const Normalised e = expected_batch_norm(x, scale, bias, kEpsilon);
    const auto y = run_in_both(BatchNorm{kEpsilon}, random, {x, scale, bias},
                               {wide_type(dims), wide_type(channel), wide_type(channel)}, 1e-4);
    expect_near(y[0], e.y, 1e-12, "y");
    expect_near(y[1], e.mean, 1e-13, "mean");
    expect_near(y[2], e.variance, 1e-13, "variance");

    // Statistics that float32 represents, so that both precisions see the same; the derivative is compared in float64.
    const std::vector<TensorType> outputs = {wide_type(dims), wide_type(channel), wide_type(channel)};
    const auto rounded = [](const HostTensor& t) { return t.to_f32().to(DataType::f64); };
    run_in_both(BatchNormBackward{kEpsilon}, random, {x, dy, rounded(e.mean), rounded(e.variance), scale}, outputs,
                1e-4);
    std::vector<KernelInput> inputs;
    for (const HostTensor& t : {x, dy, e.mean, e.variance, scale})
      inputs.push_back({t, random_layout(random, t.dims), false});
    KernelOptions options;
    options.outputs = outputs;
    const auto gradients = run_kernel(BatchNormBackward{kEpsilon}, inputs, options).outputs;
    const auto loss = [&](const HostTensor& at, const HostTensor& s, const HostTensor& b) {
      return dot(dy, expected_batch_norm(at, s, b, kEpsilon).y);
    };
    const auto numeric = [&](const HostTensor& t, const std::function<double(const HostTensor&)>& f) {
      return numeric_gradient(t, f);
    };
    expect_near(gradients[0], numeric(x, [&](const HostTensor& at) { return loss(at, scale, bias); }), 1e-6, "dx");
    expect_near(gradients[1], numeric(scale, [&](const HostTensor& at) { return loss(x, at, bias); }), 1e-6, "dscale");
    expect_near(gradients[2], numeric(bias, [&](const HostTensor& at) { return loss(x, scale, at); }), 1e-6, "dbias");
  }
}

TEST(BatchNormKernel, FloatKeepsItsPrecisionFarFromZero) {
  std::mt19937 random(2);
  HostTensor x = random_values(random, {8, 16, 10, 10});
  for (double& v : x.as<double>()) v = static_cast<float>(v + 1000);
  const HostTensor scale = random_values(random, {16}), bias = random_values(random, {16});
  const Normalised e = expected_batch_norm(x, scale, bias, kEpsilon);
  const auto y = run_in_both(BatchNorm{kEpsilon}, random, {x, scale, bias},
                             {wide_type(x.dims), wide_type({16}), wide_type({16})}, 1e-3);
  expect_near(y[0], e.y, 1e-9, "y");
}

TEST(BatchNormKernel, SeveralThreadsGiveTheSameBits) {
  std::mt19937 random(3);
  const Dims dims = {6, 40, 12, 12};
  std::vector<KernelInput> inputs = {{random_values(random, dims).to_f32(), {}, false},
                                     {random_values(random, {40}).to_f32(), {}, false},
                                     {random_values(random, {40}).to_f32(), {}, false}};
  KernelOptions options;
  options.outputs = {{DataType::f32, Shape(dims)}, {DataType::f32, Shape(Dims{40})}, {DataType::f32, Shape(Dims{40})}};
  const auto one = run_kernel(BatchNorm{kEpsilon}, inputs, options).outputs;
  options.threads = 2;
  EXPECT_EQ(run_kernel(BatchNorm{kEpsilon}, inputs, options).outputs, one);

  inputs = {inputs[0],
            {random_values(random, dims).to_f32(), {}, false},
            {one[1], {}, false},
            {one[2], {}, false},
            inputs[1]};
  const auto two = run_kernel(BatchNormBackward{kEpsilon}, inputs, options).outputs;
  options.threads = 1;
  EXPECT_EQ(run_kernel(BatchNormBackward{kEpsilon}, inputs, options).outputs, two);
}

HostTensor expected_lrn(const Lrn& p, const HostTensor& x) {
  HostTensor y(DataType::f64, x.dims);
  const int64_t channels = x.dims[1], inner = x.element_count() / std::max<int64_t>(1, x.dims[0] * channels);
  const auto values = x.as<double>();
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const int64_t c = i / inner % channels;
    double sum = 0;
    for (int64_t k = std::max<int64_t>(0, c - (p.size - 1) / 2); k <= std::min(channels - 1, c + p.size / 2); ++k) {
      sum += std::pow(values[static_cast<size_t>(i + (k - c) * inner)], 2);
    }
    const double base = p.bias + static_cast<double>(p.alpha) / static_cast<double>(p.size) * sum;
    y.as<double>()[static_cast<size_t>(i)] = values[static_cast<size_t>(i)] / std::pow(base, p.beta);
  }
  return y;
}

TEST(LrnKernel, ComputesTheDefinitionAndItsDerivative) {
  std::mt19937 random(4);
  for (const Lrn& p :
       {Lrn{5, 0.5f, 0.75f, 1.0f}, Lrn{2, 0.25f, 0.5f, 2.0f}, Lrn{1, 1.0f, 1.25f, 1.0f}, Lrn{9, 2.0f, 0.75f, 1.5f}}) {
    for (const Dims& dims : {Dims{2, 6, 3}, Dims{2, 5, 2, 3}, Dims{1, 1, 2, 2}, Dims{1, 12}, Dims{0, 4, 2}}) {
      SCOPED_TRACE(fmt::format("{} size {}", to_string(dims), p.size));
      const HostTensor x = random_values(random, dims), dy = random_values(random, dims);
      expect_near(run_in_both(p, random, {x}, {wide_type(dims)}, 1e-5)[0], expected_lrn(p, x), 1e-12, "y");
      const LrnBackward backward{p.size, p.alpha, p.beta, p.bias};
      const HostTensor dx = run_in_both(backward, random, {x, dy}, {wide_type(dims)}, 1e-5)[0];
      const HostTensor numeric =
          numeric_gradient(x, [&](const HostTensor& at) { return dot(dy, expected_lrn(p, at)); });
      expect_near(dx, numeric, 1e-6, "dx");
    }
  }
}

}  // namespace
}  // namespace arbalest
