// Scatter against its definition, element by element.
#include <gtest/gtest.h>

#include "graph/base/error.h"
#include "tests/exec/kernel_harness.h"

namespace arbalest {
namespace {

constexpr ScatterReduction kScatterKinds[] = {ScatterReduction::set, ScatterReduction::add, ScatterReduction::mul,
                                              ScatterReduction::max, ScatterReduction::min};

struct ScatterCase {
  Scatter p;
  HostTensor data, indices, updates;
};

ScatterCase scatter_case(std::mt19937& random, DataType type, ScatterReduction kind) {
  Dims data = random_dims(random, 1 + static_cast<int>(random() % 4));
  const auto axis = random() % data.size();
  if (data[axis] == 0) data[axis] = 3;
  const Dims shape = random_dims(random, static_cast<int>(random() % 3));
  HostTensor indices(DataType::i64, shape);
  for (int64_t& v : indices.as<int64_t>()) {
    v = static_cast<int64_t>(random() % static_cast<uint64_t>(2 * data[axis])) - data[axis];
  }
  Dims updates = data;
  updates.erase(updates.begin() + static_cast<std::ptrdiff_t>(axis));
  updates.insert(updates.begin() + static_cast<std::ptrdiff_t>(axis), shape.begin(), shape.end());
  const bool onto_zeros = random() % 3 == 0;
  return {{static_cast<int>(axis), kind, onto_zeros, onto_zeros ? Dim(data[axis]) : Dim(0)},
          onto_zeros ? HostTensor(type, data) : random_tensor(random, type, data),
          indices.to(random() % 2 ? DataType::i32 : DataType::i64),
          random_tensor(random, type, updates)};
}

HostTensor scattered(const ScatterCase& c) {
  const DataType type = c.data.dtype;
  const DataType wide = is_float(type) ? type : DataType::i64;
  HostTensor y = c.data.to(wide);
  const HostTensor updates = c.updates.to(wide), indices = c.indices.to(DataType::i64);
  const auto axis = static_cast<size_t>(c.p.axis);
  const int64_t size = y.dims[axis], inner = row_major_strides(y.dims)[axis], count = indices.element_count();
  const auto apply = [&](auto values, auto from) {
    for (int64_t n = 0; n < std::ssize(from); ++n) {
      const int64_t index = indices.as<int64_t>()[static_cast<size_t>(n / inner % count)];
      const int64_t row = n / inner / count * size + (index + size) % size;
      auto& to = values[static_cast<size_t>(row * inner + n % inner)];
      const auto u = from[static_cast<size_t>(n)];
      const bool either = type == DataType::boolean;
      switch (c.p.kind) {
        case ScatterReduction::set:
          to = u;
          break;
        case ScatterReduction::add:
          to = either ? std::max(to, u) : to + u;
          break;
        case ScatterReduction::mul:
          to = to * u;
          break;
        case ScatterReduction::max:
          to = std::max(to, u);
          break;
        case ScatterReduction::min:
          to = std::min(to, u);
          break;
      }
    }
  };
  if (wide == DataType::f32) apply(y.as<float>(), updates.as<float>());
  if (wide == DataType::f64) apply(y.as<double>(), updates.as<double>());
  if (wide == DataType::i64) apply(y.as<int64_t>(), updates.as<int64_t>());
  return y.to(type);
}

std::vector<KernelInput> inputs_of(const ScatterCase& c) {
  std::vector<KernelInput> inputs;
  if (!c.p.onto_zeros) inputs.push_back({c.data, {}});
  inputs.push_back({c.indices, {}});
  inputs.push_back({c.updates, {}});
  return inputs;
}

TEST(Scatter, EqualsTheDefinition) {
  std::mt19937 random(1);
  constexpr DataType kTypes[] = {DataType::f32, DataType::f64, DataType::i64,    DataType::i32,
                                 DataType::u8,  DataType::i8,  DataType::boolean};
  for (int i = 0; i < 1000; ++i) {
    const DataType type = kTypes[static_cast<size_t>(i) % std::size(kTypes)];
    const ScatterCase c = scatter_case(random, type, kScatterKinds[random() % std::size(kScatterKinds)]);
    KernelOptions o;
    o.outputs = {{type, Shape(c.data.dims)}};
    o.threads = 1 + static_cast<int>(random() % 2);
    std::vector<KernelInput> inputs = inputs_of(c);
    for (KernelInput& in : inputs) in.layout = random_layout(random, in.tensor.dims);
    EXPECT_EQ(run_kernel(c.p, inputs, o).outputs[0], scattered(c));
  }
}

TEST(Scatter, SetsSixteenBitFloats) {
  std::mt19937 random(2);
  const ScatterCase c = scatter_case(random, DataType::f32, ScatterReduction::set);
  for (const DataType type : {DataType::f16, DataType::bf16}) {
    ScatterCase half = c;
    half.data = c.data.to(type);
    half.updates = c.updates.to(type);
    KernelOptions o;
    o.outputs = {{type, Shape(c.data.dims)}};
    EXPECT_EQ(run_kernel(c.p, inputs_of(half), o).outputs[0], scattered(c).to(type));
  }
}

TEST(Scatter, ThreadsDoNotChangeABit) {
  std::mt19937 random(3);
  for (const Dims& data : {Dims{50, 300}, Dims{40, 7, 5}}) {
    ScatterCase c;
    c.p = {static_cast<int>(data.size()) - 2, ScatterReduction::add, true, 7};
    Dims updates = data;
    updates[data.size() - 2] = 3000;
    c.indices = HostTensor(DataType::i64, {3000});
    for (int64_t& v : c.indices.as<int64_t>()) v = static_cast<int64_t>(random() % 7);
    c.updates = random_tensor(random, DataType::f32, updates);
    updates[data.size() - 2] = 7;
    c.data = HostTensor(DataType::f32, updates);
    KernelOptions o;
    o.outputs = {{DataType::f32, Shape(updates)}};
    const HostTensor one = run_kernel(c.p, inputs_of(c), o).outputs[0];
    o.threads = 2;
    EXPECT_EQ(run_kernel(c.p, inputs_of(c), o).outputs[0], one);
    EXPECT_EQ(one, scattered(c));
  }
}

TEST(Scatter, NanStays) {
  ScatterCase c;
  c.data = HostTensor::f32({2}, std::vector<float>{NAN, 1});
  c.indices = HostTensor::i64({3}, std::vector<int64_t>{0, 1, 1});
  c.updates = HostTensor::f32({3}, std::vector<float>{1, NAN, 2});
  KernelOptions o;
  o.outputs = {{DataType::f32, Shape{2}}};
  for (const ScatterReduction kind : {ScatterReduction::max, ScatterReduction::min}) {
    const HostTensor y = run_kernel(Scatter{0, kind, false, 0}, inputs_of(c), o).outputs[0];
    EXPECT_TRUE(std::isnan(y.as<float>()[0]));
    EXPECT_TRUE(std::isnan(y.as<float>()[1]));
  }
}

TEST(Scatter, IndexOutOfRangeIsAnError) {
  for (const int64_t index : {int64_t{4}, int64_t{-5}}) {
    ScatterCase c;
    c.data = HostTensor(DataType::f32, {4, 3});
    c.indices = HostTensor::i64({2}, std::vector<int64_t>{0, index});
    c.updates = HostTensor(DataType::f32, {2, 3});
    KernelOptions o;
    o.outputs = {{DataType::f32, Shape{4, 3}}};
    try {
      run_kernel(Scatter{}, inputs_of(c), o);
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::model);
      EXPECT_EQ(e.what(), fmt::format("index {} at position 1: out of range for an axis of size 4", index));
    }
  }
}

}  // namespace
}  // namespace arbalest
