#include "tests/exec/cpu/kernels/reference.h"

namespace arbalest {
namespace {

// exp(x) / sum exp along the axis, without the shift that keeps large values finite; inputs here are small.
HostTensor expected_softmax(const HostTensor& x, int axis, bool log) {
  const auto a = static_cast<size_t>(axis);
  Dims reduced = x.dims;
  reduced[a] = 1;
  const Dims strides = row_major_strides(x.dims);
  HostTensor y(DataType::f64, x.dims);
  for_each_index(reduced, [&](const Dims& index) {
    int64_t base = 0;
    for (size_t i = 0; i < index.size(); ++i) base += index[i] * strides[i];
    const auto at = [&](int64_t k) { return static_cast<size_t>(base + k * strides[a]); };
    double sum = 0;
    for (int64_t k = 0; k < x.dims[a]; ++k) sum += std::exp(x.as<double>()[at(k)]);
    for (int64_t k = 0; k < x.dims[a]; ++k) {
      const double p = std::exp(x.as<double>()[at(k)]) / sum;
      y.as<double>()[at(k)] = log ? std::log(p) : p;
    }
  });
  return y;
}

TEST(SoftmaxKernel, ComputesTheDefinitionAndItsDerivative) {
  std::mt19937 random(1);
  for (const Dims& dims : {Dims{4}, Dims{3, 5}, Dims{2, 3, 4}, Dims{2, 1, 3, 2}, Dims{1}, Dims{2, 40}, Dims{0, 3}}) {
    for (int axis = 0; axis < static_cast<int>(dims.size()); ++axis) {
      for (const bool log : {false, true}) {
        SCOPED_TRACE(fmt::format("{} axis {} log {}", to_string(dims), axis, log));
        const HostTensor x = random_values(random, dims), dy = random_values(random, dims);
        const Softmax forward{axis, log};
        const HostTensor y = run_in_both(forward, random, {x}, {wide_type(dims)}, 1e-6)[0];
        expect_near(y, expected_softmax(x, axis, log), 1e-13, "y");
        const HostTensor f32_y = y.to_f32().to(DataType::f64);
        const HostTensor dx = run_in_both(SoftmaxBackward{axis, log}, random, {f32_y, dy}, {wide_type(dims)}, 1e-6)[0];
        const HostTensor numeric = numeric_gradient(
            x, [&](const HostTensor& at) { return dot(dy, run_wide(forward, {at}, {wide_type(dims)})); });
        expect_near(dx, numeric, 1e-6, "dx");
      }
    }
  }
}

TEST(SoftmaxKernel, LargeAndInfiniteValues) {
  const double inf = std::numeric_limits<double>::infinity();
  std::mt19937 random(2);
  HostTensor x(DataType::f64, {3, 3});
  const double values[] = {1e4, 1e4, -1e4, -inf, 0, 0, 5, -3e38, -inf};
  std::copy(std::begin(values), std::end(values), x.as<double>().begin());
  HostTensor y(DataType::f64, {3, 3});
  const double expected_values[] = {0.5, 0.5, 0, 0, 0.5, 0.5, 1, 0, 0};
  std::copy(std::begin(expected_values), std::end(expected_values), y.as<double>().begin());
  expect_near(run_in_both(Softmax{1, false}, random, {x}, {wide_type({3, 3})}, 1e-6)[0], y, 1e-13, "y");
  const HostTensor log_y = run_in_both(Softmax{1, true}, random, {x}, {wide_type({3, 3})}, 1e-6)[0];
  EXPECT_NEAR(log_y.as<double>()[0], std::log(0.5), 1e-13);
  EXPECT_DOUBLE_EQ(log_y.as<double>()[2], -2e4 + std::log(0.5));
  EXPECT_EQ(log_y.as<double>()[3], -inf);
}

TEST(SoftmaxKernel, AnEmptyAxis) {
  std::mt19937 random(3);
  const HostTensor x(DataType::f64, {4, 0, 2});
  EXPECT_EQ(run_in_both(Softmax{1, false}, random, {x}, {wide_type(x.dims)}, 0)[0], x);
  EXPECT_EQ(run_in_both(SoftmaxBackward{1, true}, random, {x, x}, {wide_type(x.dims)}, 0)[0], x);
}

struct LossCase {
  Dims dims;
  int axis;
  LossReduction reduction;
  std::optional<int64_t> ignore;
  bool weights;
};

// The loss by its definition: -w log softmax, summed or averaged over the weights that count.
HostTensor expected_loss(const LossCase& c, const HostTensor& x, const std::vector<int64_t>& labels,
                         const HostTensor& weights, const Dims& label_dims) {
  const HostTensor log_p = expected_softmax(x, c.axis, true);
  const Dims strides = row_major_strides(x.dims);
  std::vector<double> losses;
  double weight_sum = 0, total = 0;
  size_t i = 0;
  for_each_index(label_dims, [&](const Dims& index) {
    const int64_t label = labels[i++];
    Dims full = index;
    full.insert(full.begin() + c.axis, label);
    int64_t flat = 0;
    for (size_t k = 0; k < full.size(); ++k) flat += full[k] * strides[k];
    const bool counts = label != c.ignore.value_or(-1);
    const double w = !counts ? 0 : c.weights ? weights.as<double>()[static_cast<size_t>(label)] : 1;
    losses.push_back(counts ? -w * log_p.as<double>()[static_cast<size_t>(flat)] : 0);
    total += losses.back(), weight_sum += w;
  });
  HostTensor loss(DataType::f64, c.reduction == LossReduction::none ? label_dims : Dims{});
  if (c.reduction == LossReduction::none) {
    std::copy(losses.begin(), losses.end(), loss.as<double>().begin());
  } else {
    loss.as<double>()[0] = c.reduction == LossReduction::sum ? total : total / weight_sum;
  }
  return loss;
}

TEST(CrossEntropyKernel, ComputesTheDefinitionAndItsDerivative) {
  std::mt19937 random(4);
  for (const auto& [dims, axis] :
       {std::pair(Dims{6, 4}, 1), {Dims{2, 5, 3}, 1}, {Dims{2, 3, 2, 4}, 3}, {Dims{5, 7}, 0}}) {
    for (const auto reduction : {LossReduction::none, LossReduction::sum, LossReduction::mean}) {
      for (const int variant : {0, 1, 2, 3}) {
        const LossCase c{dims, axis, reduction, variant & 1 ? std::optional<int64_t>(2) : std::nullopt, variant >= 2};
        SCOPED_TRACE(fmt::format("{} axis {} reduction {} variant {}", to_string(dims), axis,
                                 static_cast<int>(reduction), variant));
        Dims label_dims = dims;
        label_dims.erase(label_dims.begin() + axis);
        const int64_t classes = dims[static_cast<size_t>(axis)];
        std::vector<int64_t> labels;
        for (int64_t i = 0; i < element_count(label_dims); ++i) {
          labels.push_back(static_cast<int64_t>(random() % static_cast<unsigned>(classes)));
        }
        labels[0] = 0;  // one that counts
        const HostTensor x = random_values(random, dims);
        HostTensor weights = random_values(random, {classes});
        for (double& w : weights.as<double>()) w = std::abs(w) + 0.25;
        weights = weights.to_f32().to(DataType::f64);
        const HostTensor label_tensor =
            HostTensor::i64(label_dims, labels).to(variant & 1 ? DataType::i32 : DataType::i64);

        const CrossEntropy forward{axis, reduction, c.ignore, c.weights};
        std::vector<HostTensor> inputs = {x, label_tensor};
        if (c.weights) inputs.push_back(weights);
        const HostTensor loss = expected_loss(c, x, labels, weights, label_dims);
        const std::vector<TensorType> outputs = {wide_type(loss.dims), wide_type(dims)};
        const auto results = run_in_both(forward, random, inputs, outputs, 1e-6);
        expect_near(results[0], loss, 1e-13, "loss");
        expect_near(results[1], expected_softmax(x, axis, false), 1e-13, "probabilities");

        const HostTensor dloss = random_values(random, loss.dims);
        std::vector<HostTensor> backward = {results[1].to_f32().to(DataType::f64), label_tensor, dloss};
        if (c.weights) backward.push_back(weights);
        const HostTensor dx = run_in_both(CrossEntropyBackward{axis, reduction, c.ignore, c.weights}, random, backward,
                                          {wide_type(dims)}, 1e-6)[0];
        const HostTensor numeric = numeric_gradient(
            x, [&](const HostTensor& at) { return dot(dloss, expected_loss(c, at, labels, weights, label_dims)); });
        expect_near(dx, numeric, 1e-6, "dlogits");
      }
    }
  }
}

TEST(CrossEntropyKernel, NothingCountsOrALabelIsOutside) {
  std::mt19937 random(5);
  const HostTensor x = random_values(random, {3, 4});
  const std::vector<TensorType> outputs = {wide_type({}), wide_type({3, 4})};
  const std::vector<int64_t> ignored = {-100, -100, -100}, outside = {1, 4, 0};
  const CrossEntropy mean{1, LossReduction::mean, -100, false};
  EXPECT_TRUE(std::isnan(run_wide(mean, {x, HostTensor::i64({3}, ignored)}, outputs).as<double>()[0]));
  EXPECT_TRUE(std::isnan(run_wide(mean, {x, HostTensor::i64({3}, outside)}, outputs).as<double>()[0]));
  const CrossEntropy sum{1, LossReduction::sum, -100, false};
  EXPECT_EQ(run_wide(sum, {x, HostTensor::i64({3}, ignored)}, outputs).as<double>()[0], 0);
}

}  // namespace
}  // namespace arbalest
