#include <gtest/gtest.h>

#include "tests/exec/kernel_harness.h"

namespace arbalest {
namespace {

HostTensor reorder(const HostTensor& tensor, const Layout& from, const Layout& to, int threads) {
  const std::vector<KernelInput> inputs = {{tensor, from, false}};
  KernelOptions options;
  options.outputs = {{tensor.dtype, Shape(tensor.dims)}};
  options.threads = threads;
  KernelContext context(inputs, options);
  context.set_output(0, to);
  return context.run(cpu::prepare_reorder(from, to, tensor.dtype, threads)).outputs[0];
}

TEST(Reorder, AnyLayoutToAnyLayoutOfEveryType) {
  std::mt19937 random(3);
  for (const DataType type :
       {DataType::f32, DataType::f64, DataType::f16, DataType::bf16, DataType::i8, DataType::i16, DataType::i32,
        DataType::i64, DataType::u8, DataType::u16, DataType::u32, DataType::u64, DataType::boolean}) {
    for (int i = 0; i < 30; ++i) {
      const Dims dims = random_dims(random, static_cast<int>(random() % 6));
      const HostTensor tensor = random_tensor(random, type, dims);
      const Layout from = random_layout(random, dims), to = random_layout(random, dims);
      EXPECT_EQ(reorder(tensor, from, to, 1 + i % 2), tensor)
          << name_of(type) << " " << to_string(dims) << ": " << from.text() << " -> " << to.text();
    }
  }
}

TEST(Reorder, BlocksOfSeveralAxes) {
  const Dims dims = {20, 12, 3, 2};
  const auto blocked = [&](std::vector<std::pair<int, int64_t>> blocks) {
    Layout layout = Layout::row_major(dims);
    layout.blocks = std::move(blocks);
    return layout.resized(dims);
  };
  const Layout layouts[] = {blocked({{1, 8}, {0, 8}}),          blocked({{0, 8}, {1, 8}}), blocked({{0, 16}}),
                            blocked({{1, 4}, {0, 16}, {1, 2}}), Layout::row_major(dims),   Layout::channels_last(dims)};
  std::mt19937 random(4);
  for (const DataType type : {DataType::f32, DataType::f64, DataType::u8}) {
    const HostTensor tensor = random_tensor(random, type, dims);
    for (const Layout& from : layouts)
      for (const Layout& to : layouts)
        EXPECT_EQ(reorder(tensor, from, to, 1), tensor) << name_of(type) << " " << from.text() << " -> " << to.text();
  }
}

TEST(Reorder, KeepsTheBitsOfSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> values = {inf, -inf, -0.0f, std::numeric_limits<float>::denorm_min(), -1e-40f, 1, 2, 3};
  const HostTensor tensor = HostTensor::f32({1, 8, 1, 1}, values);
  const HostTensor wide = HostTensor::f32({1, 2, 2, 2}, values);
  EXPECT_EQ(reorder(tensor, Layout::row_major(tensor.dims), Layout::channel_blocked(tensor.dims, 16), 1), tensor);
  EXPECT_EQ(reorder(wide, Layout::row_major(wide.dims), Layout::channels_last(wide.dims), 1), wide);
}

TEST(Reorder, MoreAxesThanTheLibraryHas) {
  const Dims dims(13, 2);
  std::mt19937 random(5);
  const HostTensor tensor = random_tensor(random, DataType::f32, dims);
  std::vector<int> order(13);
  for (int i = 0; i < 13; ++i) order[static_cast<size_t>(i)] = (i * 5 + 3) % 13;
  EXPECT_EQ(reorder(tensor, Layout::row_major(dims), Layout::permuted(dims, order), 1), tensor);
}

}  // namespace
}  // namespace arbalest
