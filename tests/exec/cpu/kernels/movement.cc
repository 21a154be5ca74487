// Movement kernels against one-element-at-a-time references, over random shapes, types, layouts and threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "graph/base/error.h"
#include "tests/exec/kernel_harness.h"

namespace arbalest {
namespace {

constexpr DataType kTypes[] = {DataType::f32, DataType::f64, DataType::f16,    DataType::bf16, DataType::i8,
                               DataType::i16, DataType::i32, DataType::i64,    DataType::u8,   DataType::u16,
                               DataType::u32, DataType::u64, DataType::boolean};

using Source = std::function<std::optional<Dims>(const Dims& index)>;

// y[index] = x[source(index)], or `other` where there is no source.
HostTensor pull(const HostTensor& x, const Dims& dims, const Source& source, double other = 0) {
  HostTensor fill(DataType::f64, {});
  fill.as<double>()[0] = other;
  const HostTensor element = fill.to(x.dtype);
  const size_t size = size_of(x.dtype);
  const Dims strides = row_major_strides(x.dims);
  HostTensor y(x.dtype, dims);
  std::byte* to = y.bytes.data();
  for_each_index(dims, [&](const Dims& index) {
    const std::optional<Dims> from = source(index);
    const std::byte* bytes = element.bytes.data();
    if (from)
      bytes = x.bytes.data() +
              size * static_cast<size_t>(std::inner_product(from->begin(), from->end(), strides.begin(), int64_t{0}));
    std::memcpy(to, bytes, size);
    to += size;
  });
  return y;
}

class Movement : public testing::Test {
 protected:
  std::mt19937 random_{7};
  DataType type_ = DataType::f32;

  int upto(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  KernelOptions options(const Dims& out) {
    KernelOptions o;
    o.outputs = {{type_, Shape(out)}};
    o.threads = 1 + upto(2);
    return o;
  }
  KernelInput input(const Dims& dims) {
    HostTensor x = random_tensor(random_, type_, dims);
    Layout layout = random_layout(random_, dims);
    return {std::move(x), std::move(layout)};
  }
  std::string text(const KernelInput& x) { return to_string(x.tensor.dims) + " in " + x.layout->text(); }

  // Calls f for many random ranks and every type.
  template <class F>
  void repeat(F&& f) {
    for (int i = 0; i < 400; ++i) {
      type_ = kTypes[static_cast<size_t>(i) % std::size(kTypes)];
      Dims dims = random_dims(random_, upto(7));
      if (dims.size() >= 2 && upto(3) == 0) dims[1] = 8 * (1 + upto(3));  // whole blocks of channels
      f(dims);
    }
  }
};

TEST_F(Movement, Reshape) {
  repeat([&](const Dims& dims) {
    const KernelInput x = input(dims);
    Dims out = dims;
    std::shuffle(out.begin(), out.end(), random_);
    const KernelResult r = run_kernel(Reshape{Shape(out)}, {x}, options(out));
    EXPECT_EQ(r.alias[0], 0);
    EXPECT_EQ(r.outputs[0].bytes, x.tensor.bytes) << text(x);
  });
}

TEST_F(Movement, Transpose) {
  repeat([&](const Dims& dims) {
    const KernelInput x = input(dims);
    Transpose p;
    p.permutation.resize(dims.size());
    std::iota(p.permutation.begin(), p.permutation.end(), 0);
    std::shuffle(p.permutation.begin(), p.permutation.end(), random_);
    Dims out;
    for (const int axis : p.permutation) out.push_back(dims[static_cast<size_t>(axis)]);
    const KernelResult r = run_kernel(p, {x}, options(out));
    EXPECT_EQ(r.outputs[0], pull(x.tensor, out,
                                 [&](const Dims& index) {
                                   Dims from(index.size());
                                   for (size_t i = 0; i < index.size(); ++i)
                                     from[static_cast<size_t>(p.permutation[i])] = index[i];
                                   return from;
                                 }))
        << text(x);
  });
}

TEST_F(Movement, TransposeIsAViewWhereOthersComputeInIt) {
  const Dims dims = {2, 5, 3, 4};
  const HostTensor x = random_tensor(random_, type_, dims);
  const Layout channels_last = Layout::permuted(dims, {0, 2, 3, 1});
  // NHWC of a channels-last tensor is row-major.
  KernelResult r = run_kernel(Transpose{{0, 2, 3, 1}}, {{x, channels_last}}, options({2, 3, 4, 5}));
  EXPECT_EQ(r.alias[0], 0);
  EXPECT_TRUE(r.output_layouts[0].is_row_major());
  // NCHW of a row-major NHWC tensor is channels last.
  r = run_kernel(Transpose{{0, 3, 1, 2}}, {{x, {}}}, options({2, 4, 5, 3}));
  EXPECT_EQ(r.alias[0], 0);
  EXPECT_EQ(r.output_layouts[0].text(), "acdb");
  // Whatever the owner of the gradient wants.
  KernelOptions wanting = options({4, 3, 5, 2});
  wanting.wanted = {Layout::permuted({4, 3, 5, 2}, {3, 2, 1, 0})};
  EXPECT_EQ(run_kernel(Transpose{{3, 2, 1, 0}}, {{x, {}}}, wanting).alias[0], 0);
  EXPECT_EQ(run_kernel(Transpose{{3, 2, 1, 0}}, {{x, {}}}, options({4, 3, 5, 2})).alias[0], -1);
}

// A slice of random start, count and step of each axis.
Slice random_slice(std::mt19937& random, const Dims& dims, bool simple) {
  Slice p;
  for (const int64_t d : dims) {
    const auto pick = [&](int64_t n) { return n <= 0 ? 0 : static_cast<int64_t>(random()) % n; };
    const bool whole = pick(2) == 0;
    const int64_t step = simple || whole ? 1 : (pick(2) ? 1 : -1) * (1 + pick(3));
    const int64_t start = whole || d == 0 ? 0 : pick(d);
    const int64_t most = d == 0 ? 0 : step > 0 ? (d - 1 - start) / step + 1 : start / -step + 1;
    p.start.push_back(start);
    p.step.push_back(step);
    p.size.push_back(whole ? d : pick(most + 1));
  }
  return p;
}

TEST_F(Movement, Slice) {
  repeat([&](const Dims& dims) {
    const KernelInput x = input(dims);
    const Slice p = random_slice(random_, dims, upto(2) == 0);
    const Dims out = p.size.dims();
    const KernelResult r = run_kernel(p, {x}, options(out));
    EXPECT_EQ(r.outputs[0], pull(x.tensor, out,
                                 [&](const Dims& index) {
                                   Dims from(index.size());
                                   for (size_t i = 0; i < index.size(); ++i)
                                     from[i] = p.start[i].value() + p.step[i] * index[i];
                                   return from;
                                 }))
        << text(x);
  });
}

TEST_F(Movement, SliceBackward) {
  repeat([&](const Dims& dims) {
    const Slice p = random_slice(random_, dims, upto(2) == 0);
    const KernelInput dy = input(p.size.dims());
    const KernelResult r = run_kernel(SliceBackward{p.start, Shape(dims), p.step}, {dy}, options(dims));
    EXPECT_EQ(r.outputs[0], pull(dy.tensor, dims,
                                 [&](const Dims& index) -> std::optional<Dims> {
                                   Dims from(index.size());
                                   for (size_t i = 0; i < index.size(); ++i) {
                                     const int64_t distance = index[i] - p.start[i].value();
                                     from[i] = distance / p.step[i];
                                     if (distance % p.step[i] != 0 || from[i] < 0 || from[i] >= p.size[i].value())
                                       return std::nullopt;
                                   }
                                   return from;
                                 }))
        << text(dy) << " of " << to_string(dims);
  });
}

TEST_F(Movement, Pad) {
  repeat([&](const Dims& dims) {
    const KernelInput x = input(dims);
    Pad p;
    Dims out;
    for (const int64_t d : dims) {
      p.begin.push_back(upto(2) * upto(9));
      p.end.push_back(upto(2) * upto(4));
      out.push_back(d + p.begin.back().value() + p.end.back().value());
    }
    if (element_count(out) > 20000) return;
    p.value = upto(2);
    const KernelResult r = run_kernel(p, {x}, options(out));
    const auto source = [&](const Dims& index) -> std::optional<Dims> {
      Dims from(index.size());
      for (size_t i = 0; i < index.size(); ++i) {
        from[i] = index[i] - p.begin[i].value();
        if (from[i] < 0 || from[i] >= dims[i]) return std::nullopt;
      }
      return from;
    };
    EXPECT_EQ(r.outputs[0], pull(x.tensor, out, source, p.value)) << text(x);
  });
}

TEST_F(Movement, Concat) {
  repeat([&](const Dims& dims) {
    if (dims.empty()) return;
    const int axis = upto(static_cast<int>(dims.size()));
    std::vector<KernelInput> parts;
    Dims out = dims;
    out[static_cast<size_t>(axis)] = 0;
    for (int i = 0, n = 1 + upto(4); i < n; ++i) {
      Dims part = dims;
      part[static_cast<size_t>(axis)] = upto(3) == 0 ? 8 * upto(3) : upto(5);
      out[static_cast<size_t>(axis)] += part[static_cast<size_t>(axis)];
      parts.push_back(input(part));
    }
    const KernelResult r = run_kernel(Concat{axis}, parts, options(out));
    HostTensor expected(type_, out);
    int64_t start = 0;
    for (const KernelInput& part : parts) {
      const int64_t size = part.tensor.dims[static_cast<size_t>(axis)];
      const HostTensor here = pull(part.tensor, out, [&](Dims index) -> std::optional<Dims> {
        index[static_cast<size_t>(axis)] -= start;
        const int64_t i = index[static_cast<size_t>(axis)];
        return 0 <= i && i < size ? std::optional(index) : std::nullopt;
      });
      for (size_t b = 0; b < here.bytes.size(); ++b) expected.bytes[b] |= here.bytes[b];
      start += size;
    }
    EXPECT_EQ(r.outputs[0], expected) << "axis " << axis << " to " << to_string(out);
  });
}

TEST_F(Movement, ConcatOfChannelsNeedsNoReorder) {
  for (const bool blocked : {false, true}) {
    std::vector<KernelInput> parts;
    for (const int64_t channels : {32, 8, 16}) {
      const Dims dims = {2, channels, 5, 3};
      const Layout layout = blocked ? Layout::channel_blocked(dims, 8) : Layout::permuted(dims, {0, 2, 3, 1});
      parts.push_back({random_tensor(random_, type_, dims), layout});
    }
    const KernelResult r = run_kernel(Concat{1}, parts, options({2, 56, 5, 3}));
    EXPECT_EQ(r.reordered, std::vector<bool>(3, false));
    EXPECT_EQ(r.output_layouts[0].text(), blocked ? "aBcd8b" : "acdb");
    EXPECT_EQ(r.prepared.implementation, "memcpy");
  }
}

TEST_F(Movement, Expand) {
  repeat([&](const Dims& dims) {
    const KernelInput x = input(dims);
    Dims out;
    for (int extra = upto(3); extra > 0; --extra) out.push_back(1 + upto(3));
    for (const int64_t d : dims) out.push_back(d == 1 && upto(2) ? upto(5) : d);
    const KernelResult r = run_kernel(Expand{Shape(out)}, {x}, options(out));
    EXPECT_EQ(r.outputs[0], pull(x.tensor, out,
                                 [&](const Dims& index) {
                                   Dims from(index.end() - static_cast<std::ptrdiff_t>(dims.size()), index.end());
                                   for (size_t i = 0; i < dims.size(); ++i) from[i] = dims[i] == 1 ? 0 : from[i];
                                   return from;
                                 }))
        << text(x) << " to " << to_string(out);
  });
}

TEST_F(Movement, LargeOnesOnTwoThreads) {
  for (const DataType type : {DataType::u8, DataType::bf16, DataType::f32, DataType::f64}) {
    type_ = type;
    const HostTensor x = random_tensor(random_, type, {200, 129, 3});
    KernelOptions o = options({129, 3, 200});
    o.threads = 2;
    EXPECT_EQ(run_kernel(Transpose{{1, 2, 0}}, {{x, {}}}, o).outputs[0], pull(x, {129, 3, 200}, [](const Dims& i) {
                return Dims{i[2], i[0], i[1]};
              }));
    o = options({190, 128, 3});
    o.threads = 2;
    EXPECT_EQ(run_kernel(Slice{{1, 1, 0}, {190, 128, 3}, {1, 1, 1}}, {{x, {}}}, o).outputs[0],
              pull(x, {190, 128, 3}, [](const Dims& i) {
                return Dims{i[0] + 1, i[1] + 1, i[2]};
              }));
    o = options({1, 77401});
    o.threads = 2;
    Pad pad{{0, 1}, {0, 0}, 3};
    HostTensor flat = x;
    flat.dims = {1, 77400};
    EXPECT_EQ(run_kernel(pad, {{flat, {}}}, o).outputs[0],
              pull(
                  flat, {1, 77401},
                  [](const Dims& i) {
                    return i[1] == 0 ? std::nullopt : std::optional(Dims{0, i[1] - 1});
                  },
                  3));
  }
}

}  // namespace
}  // namespace arbalest
