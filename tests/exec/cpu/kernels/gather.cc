#include <gtest/gtest.h>

#include <cstring>

#include "graph/base/error.h"
#include "tests/exec/kernel_harness.h"

namespace arbalest {
namespace {

Dims gathered_dims(const Dims& data, int axis, const Dims& indices) {
  Dims out(data.begin(), data.begin() + axis);
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), data.begin() + axis + 1, data.end());
  return out;
}

HostTensor random_indices(std::mt19937& random, DataType type, const Dims& dims, int64_t size) {
  HostTensor wide = HostTensor(DataType::i64, dims);
  for (int64_t& v : wide.as<int64_t>()) v = static_cast<int64_t>(random() % static_cast<uint64_t>(2 * size)) - size;
  return wide.to(type);
}

// The row-major position in data of element `index` of the result.
int64_t source_of(const Dims& index, const Dims& data, int axis, const HostTensor& indices) {
  const auto a = static_cast<size_t>(axis);
  const HostTensor wide = indices.to(DataType::i64);
  Dims position(index.begin(), index.begin() + axis);
  int64_t k = 0;
  for (size_t i = 0; i < indices.dims.size(); ++i) k = k * indices.dims[i] + index[a + i];
  const int64_t chosen = wide.as<int64_t>()[static_cast<size_t>(k)];
  position.push_back(chosen < 0 ? chosen + data[a] : chosen);
  position.insert(position.end(), index.begin() + axis + static_cast<std::ptrdiff_t>(indices.dims.size()), index.end());
  int64_t flat = 0;
  for (size_t i = 0; i < data.size(); ++i) flat = flat * data[i] + position[i];
  return flat;
}

struct GatherCase {
  HostTensor data;
  HostTensor indices;
  int axis = 0;
  Dims out;
};

GatherCase random_case(std::mt19937& random, DataType type) {
  GatherCase c;
  Dims data = random_dims(random, 1 + static_cast<int>(random() % 4));
  c.axis = static_cast<int>(random() % data.size());
  int64_t& size = data[static_cast<size_t>(c.axis)];
  if (size == 0) size = 3;
  c.data = random_tensor(random, type, data);
  c.indices = random_indices(random, random() % 2 ? DataType::i32 : DataType::i64,
                             random_dims(random, static_cast<int>(random() % 3)), size);
  c.out = gathered_dims(data, c.axis, c.indices.dims);
  return c;
}

KernelOptions options(std::mt19937& random, DataType type, const Dims& out) {
  KernelOptions o;
  o.outputs = {{type, Shape(out)}};
  o.threads = 1 + static_cast<int>(random() % 2);
  return o;
}

TEST(Gather, EqualsTheDefinition) {
  std::mt19937 random(1);
  constexpr DataType kTypes[] = {DataType::f32, DataType::f64, DataType::bf16, DataType::i64, DataType::boolean};
  for (int i = 0; i < 400; ++i) {
    const DataType type = kTypes[static_cast<size_t>(i) % std::size(kTypes)];
    const GatherCase c = random_case(random, type);
    const KernelResult r = run_kernel(Gather{c.axis}, {{c.data, random_layout(random, c.data.dims)}, {c.indices, {}}},
                                      options(random, type, c.out));
    size_t n = 0;
    for_each_index(c.out, [&](const Dims& index) {
      const auto from = static_cast<size_t>(source_of(index, c.data.dims, c.axis, c.indices));
      const size_t size = size_of(type);
      EXPECT_EQ(std::memcmp(r.outputs[0].bytes.data() + n++ * size, c.data.bytes.data() + from * size, size), 0);
    });
  }
}

template <class T>
void check_backward(DataType type) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    const GatherCase c = random_case(random, type);
    const HostTensor dy = random_tensor(random, type, c.out);
    const GatherBackward p{c.axis, c.data.dims[static_cast<size_t>(c.axis)]};
    const KernelResult r =
        run_kernel(p, {{dy, random_layout(random, c.out)}, {c.indices, {}}}, options(random, type, c.data.dims));
    HostTensor expected(type, c.data.dims);
    size_t n = 0;
    for_each_index(c.out, [&](const Dims& index) {
      const auto to = static_cast<size_t>(source_of(index, c.data.dims, c.axis, c.indices));
      expected.as<T>()[to] += dy.as<T>()[n++];
    });
    EXPECT_EQ(r.outputs[0], expected);  // the order of the sums is that of the indices
  }
}

TEST(GatherBackward, AddsUpInF32) { check_backward<float>(DataType::f32); }
TEST(GatherBackward, AddsUpInF64) { check_backward<double>(DataType::f64); }

TEST(GatherBackward, ThreadsDoNotChangeABit) {
  std::mt19937 random(3);
  for (const Dims& data : {Dims{50, 300}, Dims{40, 7, 5}}) {
    const HostTensor indices = random_indices(random, DataType::i64, {data.size() == 2 ? 400 : 3000}, 7);
    const int axis = data.size() == 2 ? 0 : 1;
    const HostTensor dy = random_tensor(random, DataType::f32, gathered_dims(data, axis, indices.dims));
    KernelOptions o;
    o.outputs = {{DataType::f32, Shape(data)}};
    const GatherBackward p{axis, data[static_cast<size_t>(axis)]};
    const HostTensor one = run_kernel(p, {{dy, {}}, {indices, {}}}, o).outputs[0];
    o.threads = 2;
    EXPECT_EQ(run_kernel(p, {{dy, {}}, {indices, {}}}, o).outputs[0], one);
  }
}

template <class P>
std::string failure(const P& p, const HostTensor& x, const HostTensor& indices, const Dims& out, int threads) {
  KernelOptions o;
  o.outputs = {{DataType::f32, Shape(out)}};
  o.threads = threads;
  try {
    run_kernel(p, {{x, {}}, {indices, {}}}, o);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::model);
    return e.what();
  }
  return "none";
}

TEST(Gather, IndexOutOfRangeIsAnError) {
  const HostTensor data(DataType::f32, {4, 3});
  const HostTensor bad = HostTensor::i64({3}, std::vector<int64_t>{0, 4, 1});
  EXPECT_EQ(failure(Gather{0}, data, bad, {3, 3}, 1), "index 4 at position 1: out of range for an axis of size 4");
  const HostTensor low = HostTensor::i64({1}, std::vector<int64_t>{-5});
  EXPECT_EQ(failure(Gather{0}, data, low, {1, 3}, 1), "index -5 at position 0: out of range for an axis of size 4");
  const HostTensor none(DataType::f32, {0, 3});
  EXPECT_EQ(failure(Gather{0}, none, low, {1, 3}, 1), "index -5 at position 0: out of range for an axis of size 0");
  EXPECT_EQ(failure(GatherBackward{0, 4}, HostTensor(DataType::f32, {3, 3}), bad, {4, 3}, 1),
            "index 4 at position 1: out of range for an axis of size 4");

  HostTensor late(DataType::i64, {40000});
  late.as<int64_t>()[39999] = 7;
  late.as<int64_t>()[30000] = 8;
  EXPECT_EQ(failure(Gather{0}, data, late, {40000, 3}, 2),
            "index 8 at position 30000: out of range for an axis of size 4");
  EXPECT_EQ(failure(GatherBackward{0, 4}, HostTensor(DataType::f32, {40000, 3}), late, {4, 3}, 2),
            "index 8 at position 30000: out of range for an axis of size 4");
}

}  // namespace
}  // namespace arbalest
