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

  HostTensor late(DataType::i64, {40000});
  late.as<int64_t>()[39999] = 7;
  late.as<int64_t>()[30000] = 8;
  EXPECT_EQ(failure(Gather{0}, data, late, {40000, 3}, 2),
            "index 8 at position 30000: out of range for an axis of size 4");
}

TEST(LinearIndex, EqualsTheDefinition) {
  std::mt19937 random(4);
  for (int i = 0; i < 200; ++i) {
    Dims dims = random_dims(random, static_cast<int>(random() % 4));
    for (int64_t& d : dims) d = std::max<int64_t>(d, 1);
    Dims shape = random_dims(random, static_cast<int>(random() % 3));
    const KernelOptions o = options(random, DataType::i64, shape);
    std::vector<int64_t> expected(static_cast<size_t>(element_count(shape)), 0);
    shape.push_back(std::ssize(dims));
    HostTensor indices(DataType::i64, shape);
    for (size_t k = 0; k < expected.size(); ++k) {
      for (size_t a = 0; a < dims.size(); ++a) {
        const auto index = static_cast<int64_t>(random() % static_cast<uint64_t>(dims[a]));
        expected[k] = expected[k] * dims[a] + index;
        indices.as<int64_t>()[k * dims.size() + a] = random() % 2 ? index : index - dims[a];
      }
    }
    const HostTensor given = indices.to(random() % 2 ? DataType::i32 : DataType::i64);
    const HostTensor y = run_kernel(LinearIndex{Shape(dims)}, {{given, random_layout(random, shape)}}, o).outputs[0];
    EXPECT_EQ(y, HostTensor::i64(y.dims, expected));
  }
}

TEST(LinearIndex, NoCoordinateEndsInAnotherRow) {
  const HostTensor bad = HostTensor::i64({2, 2}, std::vector<int64_t>{0, 0, 1, 3});
  KernelOptions o;
  o.outputs = {{DataType::i64, Shape{2}}};
  try {
    run_kernel(LinearIndex{{4, 3}}, {{bad, {}}}, o);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "index 3 (coordinate 1 of 2) at position 1: out of range for an axis of size 3");
  }
}

}  // namespace
}  // namespace arbalest
