// Reduce and ArgReduce against loops over all elements in long double, over random shapes, types, layouts and threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "graph/base/error.h"
#include "tests/exec/kernel_harness.h"

namespace arbalest {
namespace {

constexpr Reduction kKinds[] = {Reduction::sum, Reduction::mean, Reduction::max, Reduction::min, Reduction::prod};

Dims reduced_dims(const Dims& dims, const std::vector<int>& axes, bool keep) {
  Dims out;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    const bool reduced = std::count(axes.begin(), axes.end(), i) > 0;
    if (!reduced || keep) out.push_back(reduced ? 1 : dims[static_cast<size_t>(i)]);
  }
  return out;
}

// The elements that each result reduces, in row-major order of the results and of the elements.
std::vector<std::vector<double>> groups(const HostTensor& x, const std::vector<int>& axes) {
  const HostTensor wide = x.to(DataType::f64);
  const Dims kept = reduced_dims(x.dims, axes, true);
  const Dims strides = row_major_strides(kept);
  std::vector<std::vector<double>> all(static_cast<size_t>(element_count(kept)));
  size_t n = 0;
  for_each_index(x.dims, [&](const Dims& index) {
    int64_t to = 0;
    for (size_t i = 0; i < index.size(); ++i) to += kept[i] == 1 ? 0 : index[i] * strides[i];
    all[static_cast<size_t>(to)].push_back(wide.as<double>()[n++]);
  });
  return all;
}

double reduce_naively(Reduction kind, const std::vector<double>& values, bool is_float) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  long double result = kind == Reduction::prod  ? 1
                       : kind == Reduction::max ? -kInfinity
                       : kind == Reduction::min ? kInfinity
                                                : 0;
  for (const double v : values) {
    if (kind == Reduction::max) result = std::isnan(v) || v > result ? v : result;
    if (kind == Reduction::min) result = std::isnan(v) || v < result ? v : result;
    if (kind == Reduction::prod) result *= v;
    if (kind == Reduction::sum || kind == Reduction::mean) result += v;
  }
  if (kind == Reduction::mean) result /= static_cast<double>(values.size());
  return static_cast<double>(kind == Reduction::mean && !is_float ? std::trunc(result) : result);
}

struct ReduceCase {
  Reduce p;
  KernelInput x;
};

// Elements of int types are few and small, so that products do not overflow.
void check_reduce(const ReduceCase& c, int threads) {
  const DataType type = c.x.tensor.dtype;
  KernelOptions o;
  o.outputs = {{type, Shape(reduced_dims(c.x.tensor.dims, c.p.axes, c.p.keep))}};
  o.threads = threads;
  const KernelResult r = run_kernel(c.p, {c.x}, o);
  const HostTensor wide = r.outputs[0].to(DataType::f64);
  const std::vector<std::vector<double>> all = groups(c.x.tensor, c.p.axes);
  ASSERT_EQ(all.size(), wide.as<double>().size());
  const double epsilon = type == DataType::f32 ? 1.2e-7 : 1e-14;
  for (size_t i = 0; i < all.size(); ++i) {
    const double expected = reduce_naively(c.p.kind, all[i], is_float(type));
    const double got = wide.as<double>()[i];
    double scale = 0;
    for (const double v : all[i]) scale += std::fabs(v);
    if (c.p.kind == Reduction::mean) scale /= static_cast<double>(all[i].size());
    if (c.p.kind == Reduction::prod) scale = std::fabs(expected);
    const bool exact = !is_float(type) || c.p.kind == Reduction::max || c.p.kind == Reduction::min;
    if (got == expected) continue;  // infinities too
    EXPECT_NEAR(got, expected, exact ? 0 : epsilon * scale)
        << "result " << i << " of kind " << static_cast<int>(c.p.kind) << " of " << name_of(type) << " "
        << to_string(c.x.tensor.dims) << " in " << c.x.layout->text() << ", " << c.p.axes.size() << " axes";
  }
}

std::vector<int> random_axes(std::mt19937& random, int rank) {
  std::vector<int> axes;
  for (int i = 0; i < rank; ++i) {
    if (random() % 2) axes.push_back(i);
  }
  return axes;
}

class ReduceKinds : public testing::TestWithParam<Reduction> {};

TEST_P(ReduceKinds, EqualsLoops) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  constexpr DataType kTypes[] = {DataType::f32, DataType::f64, DataType::i32, DataType::i64, DataType::u16};
  for (int i = 0; i < 600; ++i) {
    const DataType type = kTypes[static_cast<size_t>(i) % std::size(kTypes)];
    Dims dims = random_dims(random, static_cast<int>(random() % 6));
    if (dims.size() >= 2 && random() % 3 == 0) dims[1] = 8 * (1 + static_cast<int64_t>(random() % 2));
    const std::vector<int> axes = random_axes(random, static_cast<int>(dims.size()));
    if (!is_float(type) && GetParam() != Reduction::sum && std::count(dims.begin(), dims.end(), 0)) continue;
    if (is_float(type) && GetParam() == Reduction::mean && std::count(dims.begin(), dims.end(), 0)) continue;
    HostTensor x = random_tensor(random, type, dims);
    if (!is_float(type) && GetParam() == Reduction::prod) {
      HostTensor few = random_tensor(random, DataType::boolean, dims);
      x = few.to(type);
      if (!x.bytes.empty() && type == DataType::i64) x.as<int64_t>()[0] = -3;
    }
    if (type == DataType::u16 && GetParam() == Reduction::sum && x.element_count() > 3000) continue;
    const Layout layout = random_layout(random, dims);
    check_reduce({{GetParam(), axes, random() % 2 == 0}, {std::move(x), layout}}, 1 + static_cast<int>(random() % 2));
  }
}

TEST_P(ReduceKinds, EveryWayThroughLargeTensors) {
  std::mt19937 random(11);
  const struct {
    Dims dims;
    std::vector<int> axes;
  } cases[] = {
      {{70000}, {0}},
      {{22000, 3}, {0}},
      {{3, 22000}, {1}},
      {{350, 190}, {0}},
      {{190, 350}, {1}},
      {{20, 110, 30}, {1}},
      {{20, 110, 30}, {0, 2}},
      {{24, 3, 31, 30}, {0, 2, 3}},
      {{4, 20, 30, 28}, {2, 3}},
      {{5, 2, 7, 3, 320}, {0, 2, 4}},
      {{5, 3, 7, 3, 210}, {1, 3}},
  };
  for (const DataType type : {DataType::f32, DataType::f64, DataType::i64}) {
    if (type != DataType::f32 && GetParam() != Reduction::sum) continue;  // their loops differ little
    for (const auto& c : cases) {
      HostTensor x = random_tensor(random, type, c.dims);
      if (GetParam() == Reduction::prod) {  // factors near 1
        for (float& v : x.as<float>()) v = 1 + v * 1e-4f;
      }
      KernelOptions o;
      o.outputs = {{type, Shape(reduced_dims(c.dims, c.axes, false))}};
      const Reduce p{GetParam(), c.axes, false};
      const HostTensor one = run_kernel(p, {{x, {}}}, o).outputs[0];
      o.threads = 2;
      EXPECT_EQ(run_kernel(p, {{x, {}}}, o).outputs[0], one) << "threads change the result";
      const double epsilon = type == DataType::f32 ? 1e-7 : 1e-14;
      const std::vector<std::vector<double>> all = groups(x, c.axes);
      const HostTensor wide = one.to(DataType::f64);
      for (size_t i = 0; i < all.size(); ++i) {
        double scale = 0;
        for (const double v : all[i]) scale = std::max(scale, std::fabs(v));
        const double expected = reduce_naively(GetParam(), all[i], is_float(type));
        scale = std::max(std::fabs(expected), type == DataType::f64 ? 1000 * scale : 0.0);
        ASSERT_NEAR(wide.as<double>()[i], expected, is_float(type) ? epsilon * scale : 0) << to_string(c.dims);
      }
    }
  }
}

std::string name_of_case(const testing::TestParamInfo<Reduction>& info) {
  constexpr const char* kNames[] = {"Sum", "Mean", "Max", "Min", "Product"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, ReduceKinds, testing::ValuesIn(kKinds), name_of_case);

TEST(Reduce, NothingGivesTheNeutralElement) {
  const auto reduce_empty = [](Reduction kind, DataType type) {
    KernelOptions o;
    o.outputs = {{type, Shape(Dims{2})}};
    return run_kernel(Reduce{kind, {1}, false}, {{HostTensor(type, {2, 0}), {}}}, o)
        .outputs[0]
        .to(DataType::f64)
        .as<double>()[1];
  };
  EXPECT_EQ(reduce_empty(Reduction::sum, DataType::f32), 0);
  EXPECT_EQ(reduce_empty(Reduction::prod, DataType::f32), 1);
  EXPECT_TRUE(std::isnan(reduce_empty(Reduction::mean, DataType::f32)));
  EXPECT_EQ(reduce_empty(Reduction::max, DataType::f64), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(reduce_empty(Reduction::min, DataType::f32), std::numeric_limits<double>::infinity());
  EXPECT_EQ(reduce_empty(Reduction::max, DataType::i8), -128);
  EXPECT_EQ(reduce_empty(Reduction::mean, DataType::i32), 0);
}

TEST(Reduce, AMillionSmallTermsLoseNothing) {
  HostTensor x(DataType::f32, {1000000});
  for (float& v : x.as<float>()) v = 0.1f;
  KernelOptions o;
  o.outputs = {{DataType::f32, Shape{}}};
  const float sum = run_kernel(Reduce{Reduction::sum, {0}, false}, {{x, {}}}, o).outputs[0].as<float>()[0];
  EXPECT_NEAR(sum, 1e6 * static_cast<double>(0.1f), 0.01);
}

TEST(Reduce, NanWinsMaxAndMin) {
  for (const int64_t n : {3, 40}) {
    for (int64_t place = 0; place < n; ++place) {
      HostTensor x(DataType::f32, {n, 2});
      x.as<float>()[static_cast<size_t>(2 * place)] = NAN;
      for (const Reduction kind : {Reduction::max, Reduction::min}) {
        KernelOptions o;
        o.outputs = {{DataType::f32, Shape(Dims{2})}};
        HostTensor y = run_kernel(Reduce{kind, {0}, false}, {{x, {}}}, o).outputs[0];
        EXPECT_TRUE(std::isnan(y.as<float>()[0]));
        EXPECT_EQ(y.as<float>()[1], 0);
        HostTensor transposed(DataType::f32, {n});
        transposed.as<float>()[static_cast<size_t>(place)] = NAN;
        o.outputs = {{DataType::f32, Shape{}}};
        y = run_kernel(Reduce{kind, {0}, false}, {{transposed, {}}}, o).outputs[0];
        EXPECT_TRUE(std::isnan(y.as<float>()[0]));
      }
    }
  }
}

TEST(Reduce, BiasGradientsAndGlobalPoolsTakeAnyLayout) {
  std::mt19937 random(3);
  const Dims dims = {4, 20, 5, 6};
  for (const Layout& layout : {Layout::row_major(dims), Layout::permuted(dims, {0, 2, 3, 1}),
                               Layout::channel_blocked(dims, 8), Layout::channel_blocked(dims, 16)}) {
    for (const std::vector<int>& axes : {std::vector<int>{0, 2, 3}, {2, 3}, {0, 1, 2, 3}, {1}, {1, 2, 3}}) {
      for (const Reduction kind : {Reduction::sum, Reduction::mean}) {
        KernelOptions o;
        o.outputs = {{DataType::f32, Shape(reduced_dims(dims, axes, false))}};
        const HostTensor x = random_tensor(random, DataType::f32, dims);
        const KernelResult r = run_kernel(Reduce{kind, axes, false}, {{x, layout}}, o);
        EXPECT_FALSE(r.reordered[0]) << layout.text();
        EXPECT_TRUE(r.output_layouts[0].is_row_major()) << layout.text();
        check_reduce({{kind, axes, false}, {x, layout}}, 1);
      }
    }
  }
}

TEST(Reduce, RefusesWhatHasNoArithmetic) {
  const auto reduce_one = [](DataType type, Reduction kind) {
    KernelOptions o;
    o.outputs = {{type, Shape{}}};
    run_kernel(Reduce{kind, {0}, false}, {{HostTensor(type, {2}), {}}}, o);
  };
  EXPECT_THROW(reduce_one(DataType::bf16, Reduction::sum), Error);
  EXPECT_THROW(reduce_one(DataType::boolean, Reduction::sum), Error);
  EXPECT_NO_THROW(reduce_one(DataType::boolean, Reduction::max));
}

TEST(ArgReduce, EqualsLoops) {
  std::mt19937 random(5);
  constexpr DataType kTypes[] = {DataType::f32, DataType::f64, DataType::i32,
                                 DataType::i64, DataType::u8,  DataType::boolean};
  for (int i = 0; i < 400; ++i) {
    const DataType type = kTypes[static_cast<size_t>(i) % std::size(kTypes)];
    Dims dims = random_dims(random, 1 + static_cast<int>(random() % 4));
    const int axis = static_cast<int>(random() % dims.size());
    if (dims[static_cast<size_t>(axis)] == 0) dims[static_cast<size_t>(axis)] = 2;
    const KernelInput x = {random_tensor(random, type, dims), random_layout(random, dims)};
    const ArgReduce p{random() % 2 ? Reduction::max : Reduction::min, axis, random() % 2 == 0, random() % 2 == 0};
    KernelOptions o;
    o.outputs = {{DataType::i64, Shape(reduced_dims(dims, {axis}, p.keep))}};
    o.threads = 1 + static_cast<int>(random() % 2);
    const HostTensor y = run_kernel(p, {x}, o).outputs[0];
    const std::vector<std::vector<double>> all = groups(x.tensor, {axis});
    for (size_t g = 0; g < all.size(); ++g) {
      const std::vector<double>& v = all[g];
      int64_t best = 0;
      for (int64_t k = 1; k < static_cast<int64_t>(v.size()); ++k) {
        const double a = v[static_cast<size_t>(k)], b = v[static_cast<size_t>(best)];
        const bool better = p.kind == Reduction::max ? a > b : a < b;
        if (better || (p.last && a == b)) best = k;
      }
      EXPECT_EQ(y.as<int64_t>()[g], best);
    }
  }
}

TEST(ArgReduce, NanWinsAndNothingIsAnError) {
  const HostTensor x = HostTensor::f32({5}, std::vector<float>{1, NAN, 7, NAN, -3});
  KernelOptions o;
  o.outputs = {{DataType::i64, Shape{}}};
  for (const Reduction kind : {Reduction::max, Reduction::min}) {
    EXPECT_EQ(run_kernel(ArgReduce{kind, 0, false, false}, {{x, {}}}, o).outputs[0].as<int64_t>()[0], 1);
    EXPECT_EQ(run_kernel(ArgReduce{kind, 0, false, true}, {{x, {}}}, o).outputs[0].as<int64_t>()[0], 3);
  }
  EXPECT_THROW(run_kernel(ArgReduce{Reduction::max, 0, false, false}, {{HostTensor(DataType::f32, {0}), {}}}, o),
               Error);
}

TEST(ArgReduce, LargeOnTwoThreads) {
  std::mt19937 random(6);
  for (const Dims& dims : {Dims{7, 100, 200}, Dims{3000, 40, 1}}) {
    const HostTensor x = random_tensor(random, DataType::f32, dims);
    KernelOptions o;
    o.outputs = {{DataType::i64, Shape(reduced_dims(dims, {1}, false))}};
    o.threads = 2;
    const HostTensor y = run_kernel(ArgReduce{Reduction::max, 1, false, false}, {{x, {}}}, o).outputs[0];
    const std::vector<std::vector<double>> all = groups(x, {1});
    for (size_t g = 0; g < all.size(); ++g) {
      EXPECT_EQ(y.as<int64_t>()[g], std::max_element(all[g].begin(), all[g].end()) - all[g].begin());
    }
  }
}

}  // namespace
}  // namespace arbalest
