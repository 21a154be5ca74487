// Map and StopGradient against a function of one element, over random shapes, broadcasts, layouts and threads. What
// each scalar operation gives is tested with the interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/exec/kernel_harness.h"

namespace arbalest {
namespace {

struct MapKernelCase {
  const char* name;
  DataType type;
  int inputs;
  DataType result;
  Scalar expression;
  std::function<double(const std::vector<double>&)> value;
};

std::vector<MapKernelCase> cases() {
  std::vector<MapKernelCase> all;
  for (const DataType t : {DataType::f32, DataType::f64}) {
    const Scalar a = Scalar::input(0, t), b = Scalar::input(1, t), c = Scalar::input(2, t);
    using V = const std::vector<double>&;
    all.push_back({"relu", t, 1, t, relu(a), [](V v) { return std::max(v[0], 0.0); }});
    all.push_back({"exp", t, 1, t, exp(a), [](V v) { return std::exp(v[0]); }});
    all.push_back({"add", t, 2, t, a + b, [](V v) { return v[0] + v[1]; }});
    all.push_back({"scale and shift", t, 3, t, a * b + c, [](V v) { return v[0] * v[1] + v[2]; }});
    all.push_back({"select", t, 3, t, select(a < b, c, 0.5), [](V v) { return v[0] < v[1] ? v[2] : 0.5; }});
    all.push_back({"compare", t, 2, DataType::boolean, a < b, [](V v) { return v[0] < v[1] ? 1.0 : 0.0; }});
    all.push_back({"plus one", t, 2, t, a * b + 1, [](V v) { return v[0] * v[1] + 1; }});
  }
  const Scalar i = Scalar::input(0, DataType::i32), j = Scalar::input(1, DataType::i32);
  all.push_back({"integers", DataType::i32, 2, DataType::i32, i * j - i,
                 [](const std::vector<double>& v) { return v[0] * v[1] - v[0]; }});
  all.push_back({"cast", DataType::i32, 1, DataType::f32, cast(i, DataType::f32),
                 [](const std::vector<double>& v) { return v[0]; }});
  const Scalar p = Scalar::input(0, DataType::boolean), q = Scalar::input(1, DataType::boolean);
  all.push_back({"logic", DataType::boolean, 2, DataType::boolean, p && !q,
                 [](const std::vector<double>& v) { return v[0] != 0 && v[1] == 0 ? 1.0 : 0.0; }});
  return all;
}

HostTensor map_naively(const MapKernelCase& k, const std::vector<KernelInput>& inputs, const Dims& dims) {
  std::vector<HostTensor> wide;
  for (const KernelInput& x : inputs) wide.push_back(x.tensor.to(DataType::f64));
  HostTensor y(DataType::f64, dims);
  size_t n = 0;
  std::vector<double> values(inputs.size());
  for_each_index(dims, [&](const Dims& index) {
    for (size_t i = 0; i < wide.size(); ++i) {
      size_t offset = 0;
      for (size_t axis = 0; axis < wide[i].dims.size(); ++axis) {
        const int64_t size = wide[i].dims[axis];
        const int64_t at = index[index.size() - wide[i].dims.size() + axis];
        offset = offset * static_cast<size_t>(size) + static_cast<size_t>(size == 1 ? 0 : at);
      }
      values[i] = wide[i].as<double>()[offset];
    }
    y.as<double>()[n++] = k.value(values);
  });
  return y;
}

void check_map(const MapKernelCase& k, const std::vector<KernelInput>& inputs, const Dims& dims,
               const KernelResult& r) {
  const HostTensor expected = map_naively(k, inputs, dims);
  const HostTensor got = r.outputs[0].to(DataType::f64);
  const double epsilon = k.result == DataType::f32 ? 1e-6 : 1e-13;
  for (size_t i = 0; i < expected.as<double>().size(); ++i) {
    const double e = expected.as<double>()[i];
    ASSERT_NEAR(got.as<double>()[i], e, epsilon * (1 + std::fabs(e)))
        << k.name << ", element " << i << " of " << to_string(dims) << " in " << r.output_layouts[0].text();
  }
}

KernelOptions options_for(const MapKernelCase& k, const Dims& dims, int threads) {
  KernelOptions o;
  o.outputs = {{k.result, Shape(dims)}};
  o.threads = threads;
  return o;
}

TEST(Map, EqualsTheFunctionOfEachElement) {
  std::mt19937 random(1);
  for (const MapKernelCase& k : cases()) {
    for (int n = 0; n < 60; ++n) {
      Dims dims = random_dims(random, static_cast<int>(random() % 7));
      if (dims.size() >= 2 && random() % 2) dims[1] = 8 * (1 + static_cast<int64_t>(random() % 2));
      const Layout layout = random_layout(random, dims);
      std::vector<KernelInput> inputs;
      for (int i = 0; i < k.inputs; ++i) {
        Dims operand = dims;
        // One input has the shape of the result; others repeat along some axes, or lack the first ones.
        if (i != n % k.inputs && random() % 2) {
          for (int64_t& d : operand) d = random() % 2 ? 1 : d;
          operand.erase(operand.begin(),
                        operand.begin() + static_cast<std::ptrdiff_t>(random() % (operand.size() + 1)));
        }
        const bool same = operand == dims && random() % 4 != 0;
        inputs.push_back({random_tensor(random, k.type, operand), same ? layout : random_layout(random, operand)});
      }
      const KernelResult r =
          run_kernel(Map{k.expression}, inputs, options_for(k, dims, 1 + static_cast<int>(random() % 2)));
      check_map(k, inputs, dims, r);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Map, PerChannelOperandsNeedNoReorder) {
  std::mt19937 random(2);
  const std::vector<MapKernelCase> all = cases();
  const MapKernelCase& scale = all[3];
  const Dims dims = {2, 16, 5, 3};
  for (const Layout& layout : {Layout::row_major(dims), Layout::permuted(dims, {0, 2, 3, 1}),
                               Layout::channel_blocked(dims, 8), Layout::channel_blocked(dims, 16)}) {
    const std::vector<KernelInput> inputs = {{random_tensor(random, DataType::f32, dims), layout},
                                             {random_tensor(random, DataType::f32, {16, 1, 1}), {}},
                                             {random_tensor(random, DataType::f32, {1, 16, 1, 1}), {}}};
    const KernelResult r = run_kernel(Map{scale.expression}, inputs, options_for(scale, dims, 1));
    EXPECT_EQ(r.reordered, std::vector<bool>(3, false)) << layout.text();
    EXPECT_EQ(r.output_layouts[0], layout);
    EXPECT_EQ(r.may_overwrite[0], std::vector<int>{0});
    check_map(scale, inputs, dims, r);
  }
}

TEST(Map, PaddingStaysZero) {  // the harness looks at the bytes
  std::mt19937 random(3);
  for (const MapKernelCase& k : cases()) {
    for (const Dims& dims : {Dims{2, 20, 5, 3}, Dims{1, 3}, Dims{2, 9, 2}}) {
      std::vector<KernelInput> inputs;
      for (int i = 0; i < k.inputs; ++i) {
        const bool one = i > 0 && random() % 2;
        const Dims operand = one ? Dims{1, 1} : dims;
        inputs.push_back({random_tensor(random, k.type, operand), Layout::channel_blocked(operand, one ? 1 : 8)});
      }
      const KernelResult r = run_kernel(Map{k.expression}, inputs, options_for(k, dims, 1));
      EXPECT_EQ(r.output_layouts[0], Layout::channel_blocked(dims, 8)) << k.name;
      check_map(k, inputs, dims, r);
    }
  }
}

TEST(Map, TheGradientTakesTheLayoutOfItsParameter) {
  std::mt19937 random(4);
  const MapKernelCase add = cases()[2];
  const Dims dims = {6, 4};
  const Layout wanted = Layout::permuted(dims, {1, 0});
  const std::vector<KernelInput> inputs = {{random_tensor(random, DataType::f32, dims), {}},
                                           {random_tensor(random, DataType::f32, dims), wanted}};
  KernelOptions o = options_for(add, dims, 1);
  o.wanted = {wanted};
  const KernelResult r = run_kernel(Map{add.expression}, inputs, o);
  EXPECT_EQ(r.output_layouts[0], wanted);
  EXPECT_EQ(r.reordered, (std::vector<bool>{true, false}));
  check_map(add, inputs, dims, r);
}

TEST(Map, ThreadsDoNotChangeABit) {
  std::mt19937 random(5);
  const Dims dims = {15, 16, 17, 19};
  for (const MapKernelCase& k : cases()) {
    if (k.type == DataType::f64) continue;
    for (const Layout& layout : {Layout::row_major(dims), Layout::channel_blocked(dims, 8)}) {
      std::vector<KernelInput> inputs;
      for (int i = 0; i < k.inputs; ++i) {
        inputs.push_back({random_tensor(random, k.type, i == 1 ? Dims{16, 1, 1} : dims), {}});
        if (i != 1) inputs.back().layout = layout;
      }
      const HostTensor one = run_kernel(Map{k.expression}, inputs, options_for(k, dims, 1)).outputs[0];
      EXPECT_EQ(run_kernel(Map{k.expression}, inputs, options_for(k, dims, 2)).outputs[0], one) << k.name;
    }
  }
}

TEST(StopGradient, IsAView) {
  std::mt19937 random(6);
  const Dims dims = {2, 20, 3, 3};
  const KernelInput x = {random_tensor(random, DataType::f32, dims), Layout::channel_blocked(dims, 8)};
  KernelOptions o;
  o.outputs = {{DataType::f32, Shape(dims)}};
  const KernelResult r = run_kernel(StopGradient{}, {x}, o);
  EXPECT_EQ(r.alias[0], 0);
  EXPECT_EQ(r.outputs[0], x.tensor);
}

}  // namespace
}  // namespace arbalest
