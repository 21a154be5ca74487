#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "exec/cpu/map/map_program.h"
#include "graph/host_tensor.h"
#include "graph/scalar_value.h"
#include "hwy/highway.h"

namespace arbalest {
namespace {

constexpr DataType kF32 = DataType::f32;
constexpr DataType kF64 = DataType::f64;
constexpr DataType kI64 = DataType::i64;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Scalar unary(ScalarOp op, const Scalar& x) { return Scalar::make(op, {x}); }
Scalar binary(ScalarOp op, const Scalar& a, const Scalar& b) { return Scalar::make(op, {a, b}); }

// The elements in double; a copy.
std::vector<double> values_of(const HostTensor& t) {
  const HostTensor wide = t.to(kF64);
  return {wide.as<double>().begin(), wide.as<double>().end()};
}

HostTensor tensor(DataType type, Dims dims, const std::vector<double>& values) {
  HostTensor t(kF64, std::move(dims));
  std::copy(values.begin(), values.end(), t.as<double>().begin());
  return t.to(type);
}

struct MapCase {
  Scalar expression;
  Dims dims;
  std::vector<HostTensor> inputs;
};

MapProgram compile_for(const MapCase& c) {
  std::vector<Dims> strides;
  for (const HostTensor& t : c.inputs) strides.push_back(broadcast_strides(t.dims, c.dims));
  return compile(c.expression, c.dims, strides);
}

void run(const MapProgram& program, const std::vector<HostTensor>& inputs, void* output, int64_t begin, int64_t end) {
  AlignedBytes scratch(program.scratch_bytes());
  std::vector<const void*> addresses;
  for (const HostTensor& t : inputs) addresses.push_back(t.bytes.data());
  program.run(addresses, output, begin, end, scratch.data());
}

HostTensor run(const MapCase& c) {
  HostTensor output(c.expression.type(), c.dims);
  run(compile_for(c), c.inputs, output.bytes.data(), 0, output.element_count());
  return output;
}

// Calls f(element, values of the inputs there), by NumPy's rule of broadcasting and nothing else.
template <class F>
void for_each_element(const MapCase& c, F f) {
  std::vector<std::vector<double>> values;
  for (const HostTensor& t : c.inputs) values.push_back(values_of(t));
  std::vector<double> x(values.size());
  for (int64_t k = 0; k < element_count(c.dims); ++k) {
    for (size_t i = 0; i < values.size(); ++i) {
      const Dims& own = c.inputs[i].dims;
      int64_t rest = k, index = 0, stride = 1;
      for (size_t d = c.dims.size(), e = own.size(); e > 0; --d, --e) {
        if (own[e - 1] != 1) index += rest % c.dims[d - 1] * stride;
        rest /= c.dims[d - 1];
        stride *= own[e - 1];
      }
      x[i] = values[i][static_cast<size_t>(index)];
    }
    f(static_cast<size_t>(k), x);
  }
}

bool close(double got, double expected, double relative, double absolute) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return got == expected;
  return std::fabs(got - expected) <= relative * std::fabs(expected) + absolute;
}

template <class Reference>
void expect_close(const MapCase& c, Reference reference, double relative, double absolute) {
  const auto got = values_of(run(c));
  for_each_element(c, [&](size_t k, const std::vector<double>& x) {
    const double expected = reference(x);
    ASSERT_TRUE(close(got[k], expected, relative, absolute))
        << to_string(c.expression) << " of " << testing::PrintToString(x) << " at " << k << ": " << got[k]
        << " instead of " << expected;
  });
}

void expect_close(const MapCase& c, double relative, double absolute) {
  const DataType type = c.expression.type();
  const auto reference = [&](const std::vector<double>& x) {
    const double value = evaluate(c.expression, x);
    return is_float(type) ? round_to(value, type) : value;
  };
  expect_close(c, reference, relative, absolute);
}

std::vector<double> interesting(DataType type, std::mt19937& random, size_t count) {
  std::vector<double> values;
  if (is_float(type)) {
    values = {0.0,  -0.0,  1,     -1, 0.5, -0.5, 2.5,  -2.5, kInf, -kInf, kNan,
              1e-3, -1e-3, 1e-10, 88, -88, 100,  -100, 0.92, 0.93, 1e10};
    std::normal_distribution<double> normal;
    while (values.size() < count) values.push_back(normal(random) * std::exp(normal(random) * 1.5));
  } else {
    values = {0, 1, 2, 3, 7, 100, 127, 128, 200, 255};
    while (values.size() < count) values.push_back(static_cast<double>(random() % 100));
    if (type != DataType::u8 && type != DataType::u16 && type != DataType::u32 && type != DataType::u64)
      for (size_t i = 1; i < values.size(); i += 2) values[i] = -values[i];
    if (type == DataType::boolean)
      for (double& v : values) v = v > 50;
  }
  const auto n = static_cast<int64_t>(values.size());
  return values_of(tensor(type, {n}, values));  // as the type holds them
}

// All pairs of some values.
MapCase all_pairs(const Scalar& e, DataType type, std::mt19937& random) {
  const auto values = interesting(type, random, 37);
  const auto n = static_cast<int64_t>(values.size());
  return {e, {n, n}, {tensor(type, {n, 1}, values), tensor(type, {n}, values)}};
}

void expect_float_operations(DataType type) {
  std::mt19937 random(1);
  for (int op = static_cast<int>(ScalarOp::neg); op <= static_cast<int>(ScalarOp::is_inf); ++op) {
    const auto values = interesting(type, random, 1003);
    const MapCase c{unary(static_cast<ScalarOp>(op), Scalar::input(0, type)), {1003}, {tensor(type, {1003}, values)}};
    expect_close(c, type == kF32 ? 3e-7 : 1e-14, type == kF32 ? 1e-45 : 0);
  }
  for (int op = static_cast<int>(ScalarOp::add); op <= static_cast<int>(ScalarOp::less_equal); ++op) {
    const Scalar e = binary(static_cast<ScalarOp>(op), Scalar::input(0, type), Scalar::input(1, type));
    expect_close(all_pairs(e, type, random), type == kF32 ? 1.2e-7 : 0, type == kF32 ? 1e-45 : 0);
  }
}

TEST(Map, OperationsInF32) { expect_float_operations(kF32); }

TEST(Map, OperationsInF64) { expect_float_operations(kF64); }

// Machines without AVX2 run code that no test would see on others.
TEST(Map, PortableCodeComputesTheSame) {
  hwy::SetSupportedTargetsForTest(HWY_STATIC_TARGET);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  expect_float_operations(kF32);
  expect_float_operations(kF64);
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(Map, UnaryOperationsOfIntegers) {
  std::mt19937 random(2);
  for (const ScalarOp op : {ScalarOp::neg, ScalarOp::abs, ScalarOp::sign, ScalarOp::relu, ScalarOp::bit_not}) {
    for (const DataType type : {kI64, DataType::i8, DataType::u8, DataType::i32, DataType::u16, DataType::u64}) {
      if (type == DataType::u64 && (op == ScalarOp::neg || op == ScalarOp::bit_not)) continue;  // not exact in double
      const MapCase c{unary(op, Scalar::input(0, type)), {100}, {tensor(type, {100}, interesting(type, random, 100))}};
      expect_close(c, 0, 0);
    }
  }
}

// In units of the last place, over the ranges where training uses them.
TEST(Map, AccuracyInF32) {
  const struct {
    ScalarOp op;
    double low, high, relative;
  } kRanges[] = {
      {ScalarOp::exp, -87, 88, 1.5e-7}, {ScalarOp::log, 1e-30, 1e30, 2e-7}, {ScalarOp::log1p, -0.99, 100, 3e-7},
      {ScalarOp::expm1, -20, 20, 3e-7}, {ScalarOp::tanh, -10, 10, 4e-7},    {ScalarOp::sigmoid, -87, 40, 2e-7},
      {ScalarOp::erf, -5, 5, 2e-7},     {ScalarOp::sin, -3, 3, 2.5e-7},     {ScalarOp::cos, -1.5, 1.5, 2.5e-7}};
  for (const auto& r : kRanges) {
    constexpr int64_t n = 200000;
    HostTensor x(kF32, {n});
    for (int64_t i = 0; i < n; ++i) {
      const double t = (static_cast<double>(i) + 0.5) / n;
      const double v = r.low > 0 ? r.low * std::pow(r.high / r.low, t) : r.low + (r.high - r.low) * t;
      x.as<float>()[static_cast<size_t>(i)] = static_cast<float>(v);
    }
    const Scalar e = unary(r.op, Scalar::input(0, kF32));
    const HostTensor y = run({e, {n}, {x}});
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < n; ++i) {
      const double expected = apply(r.op, kF64, std::vector<ScalarValue>{{x.as<float>()[i], 0}}).real;
      const double error = std::fabs(y.as<float>()[i] - expected) / std::fabs(expected);
      if (error > worst) at = x.as<float>()[i];
      worst = std::max(worst, error);
    }
    EXPECT_LT(worst, r.relative) << name_of(r.op) << " at " << at;
    RecordProperty(std::string(name_of(r.op)), fmt::format("{:.3g} at {}", worst, at));
  }
}

TEST(Map, SineOfLargeArguments) {
  const std::vector<double> x = {1e5, -1e5, 1e10, 39000, -39000, 3e38, 1, 2};
  expect_close({unary(ScalarOp::sin, Scalar::input(0, kF32)), {8}, {tensor(kF32, {8}, x)}}, 1e-5, 1e-6);
  expect_close({unary(ScalarOp::cos, Scalar::input(0, kF32)), {8}, {tensor(kF32, {8}, x)}}, 1e-5, 1e-6);
}

TEST(Map, BinaryOperationsOfIntegersAndBooleans) {
  std::mt19937 random(2);
  for (int op = static_cast<int>(ScalarOp::add); op <= static_cast<int>(ScalarOp::shift_right); ++op) {
    const auto o = static_cast<ScalarOp>(op);
    const bool logic = o == ScalarOp::logical_and || o == ScalarOp::logical_or || o == ScalarOp::logical_xor;
    if (logic) continue;
    for (const DataType type :
         {DataType::i8, DataType::u8, DataType::i16, DataType::u16, DataType::i32, DataType::u32, kI64}) {
      if (type == kI64 && (o == ScalarOp::pow || o == ScalarOp::shift_left)) continue;  // not exact in double
      expect_close(all_pairs(binary(o, Scalar::input(0, type), Scalar::input(1, type)), type, random), 0, 0);
    }
  }
  for (const ScalarOp op : {ScalarOp::equal, ScalarOp::less, ScalarOp::less_equal, ScalarOp::logical_and,
                            ScalarOp::logical_or, ScalarOp::logical_xor})
    expect_close(all_pairs(binary(op, Scalar::input(0, DataType::boolean), Scalar::input(1, DataType::boolean)),
                           DataType::boolean, random),
                 0, 0);
}

TEST(Map, UnsignedIntegersOf64BitsWrap) {
  HostTensor a(DataType::u64, {3}), b(DataType::u64, {3});
  const uint64_t x[] = {UINT64_MAX, 5, uint64_t{1} << 63}, y[] = {2, UINT64_MAX, 3};
  std::copy_n(x, 3, a.as<uint64_t>().begin());
  std::copy_n(y, 3, b.as<uint64_t>().begin());
  const Scalar p = Scalar::input(0, DataType::u64), q = Scalar::input(1, DataType::u64);
  const auto at = [&](const Scalar& e) {
    const HostTensor out = run({e, {3}, {a, b}});
    return std::vector<uint64_t>(out.as<uint64_t>().begin(), out.as<uint64_t>().end());
  };
  EXPECT_EQ(at(p + q), (std::vector<uint64_t>{x[0] + y[0], x[1] + y[1], x[2] + y[2]}));
  EXPECT_EQ(at(p * q), (std::vector<uint64_t>{x[0] * y[0], x[1] * y[1], x[2] * y[2]}));
  EXPECT_EQ(at(p / q), (std::vector<uint64_t>{x[0] / y[0], x[1] / y[1], x[2] / y[2]}));
  EXPECT_EQ(at(max(p, q)), (std::vector<uint64_t>{x[0], y[1], x[2]}));
  EXPECT_EQ(at(binary(ScalarOp::shift_right, p, q)), (std::vector<uint64_t>{x[0] >> 2, 0, x[2] >> 3}));
  EXPECT_EQ(at(select(p < q, p, q)), (std::vector<uint64_t>{y[0], x[1], y[2]}));
  const HostTensor as_float = run({cast(p, kF32), {3}, {a}});
  EXPECT_EQ(as_float.as<float>()[0], 0x1p64f);
  const HostTensor back = run({cast(cast(p, kF64) * 2, DataType::u64), {3}, {a}});
  EXPECT_EQ(back.as<uint64_t>()[0], UINT64_MAX);
}

TEST(Map, Casts) {
  std::mt19937 random(3);
  constexpr DataType kAll[] = {kF32,          kF64, DataType::f16, DataType::bf16, DataType::i8,  DataType::i16,
                               DataType::i32, kI64, DataType::u8,  DataType::u16,  DataType::u32, DataType::boolean};
  for (const DataType from : kAll) {
    auto values = interesting(from, random, 203);
    for (const DataType to : kAll) {
      expect_close({cast(Scalar::input(0, from), to), {203}, {tensor(from, {203}, values)}}, 0, 0);
      expect_close({cast(cast(Scalar::input(0, from), to), kF64), {203}, {tensor(from, {203}, values)}}, 0, 0);
      expect_close({cast(cast(Scalar::input(0, from), to), DataType::i32), {203}, {tensor(from, {203}, values)}}, 0, 0);
      if (to != DataType::boolean && from != DataType::boolean)
        expect_close({cast(Scalar::input(0, from) + Scalar::input(0, from), to), {203}, {tensor(from, {203}, values)}},
                     from == DataType::f16 || from == DataType::bf16 ? 1e-2 : 0, 0);
    }
  }
}

TEST(Map, HalfPrecisionComputesInSingle) {
  std::mt19937 random(4);
  for (const DataType type : {DataType::f16, DataType::bf16}) {
    const Scalar x = Scalar::input(0, type), y = Scalar::input(1, type);
    expect_close(all_pairs(x * y + tanh(x), type, random), type == DataType::f16 ? 1e-3 : 8e-3, 1e-7);
  }
}

TEST(Map, MixedTypesAndMasks) {
  std::mt19937 random(5);
  const int64_t n = 1000;
  const Scalar f = Scalar::input(0, kF32), d = Scalar::input(1, kF64), i = Scalar::input(2, DataType::i32),
               b = Scalar::input(3, DataType::boolean);
  const auto test = [&](const Scalar& e) {
    expect_close({e,
                  {n},
                  {tensor(kF32, {n}, interesting(kF32, random, n)), tensor(kF64, {n}, interesting(kF64, random, n)),
                   tensor(DataType::i32, {n}, interesting(DataType::i32, random, n)),
                   tensor(DataType::boolean, {n}, interesting(DataType::boolean, random, n))}},
                 1e-6, 0);
  };
  test(select(b, f, 0));
  test(select(b && f < 1, f, -f));
  test(select(d < 1 || !b, i, i * 2));
  test(select(equal(i, 3), d, 2 * d));
  test(f < 0.5 && (d < 0.5 || i < 10));
  test(select(f < 0, b, d < 1));
  test(cast(f < 1, kF32) + cast(d < 1, kF32) * cast(b, kF32));
  test(cast(b, kI64) + cast(i, kI64));
  test(cast(f < 1, kF64) * d);
  test(select(equal(b, f < 0), cast(i, kF64), d));
  test(b);
  test(!b);
  test(f);
  test(Scalar::constant(2.5, kF32));
  test(Scalar::constant(int64_t{1}, DataType::boolean));
}

TEST(Map, FusedSequences) {
  std::mt19937 random(6);
  for (const DataType type : {kF32, kF64}) {
    const Scalar x = Scalar::input(0, type), y = Scalar::input(1, type), z = Scalar::input(2, type);
    for (const Scalar& e : {x * y + z, z + x * y, x * y - z, z - x * y, relu(x + y), relu(x * y + z), (x - y) * z,
                            z * (x - y), select(x < y, z, x), select(x > 0, y, 0), x * y + x * z, (x * y) + (x * y),
                            (x - y) * (x - y), relu(x + y) + relu(x + y), relu(x * y + z) - (x * y + z)}) {
      std::vector<HostTensor> inputs;
      for (int i = 0; i < 3; ++i) {
        std::vector<double> v(777);
        for (double& a : v) a = std::normal_distribution<double>()(random);
        inputs.push_back(tensor(type, {777}, v));
      }
      expect_close({e, {777}, inputs}, type == kF32 ? 1e-6 : 1e-14, type == kF32 ? 1e-6 : 1e-15);
    }
  }
}

HostTensor counting(DataType type, Dims dims) {
  HostTensor t(kF64, std::move(dims));
  for (size_t i = 0; i < t.as<double>().size(); ++i) t.as<double>()[i] = static_cast<double>((i * 7 + 3) % 101) - 50;
  return t.to(type);
}

TEST(Map, Broadcasts) {
  const struct {
    Dims dims, a, b, c;
  } kCases[] = {
      {{}, {}, {}, {}},
      {{1}, {1}, {}, {1}},
      {{5}, {5}, {1}, {}},
      {{0}, {0}, {1}, {}},
      {{4, 0, 3}, {4, 0, 3}, {3}, {1, 1, 1}},
      {{1000}, {1000}, {1}, {1000}},
      {{6, 7, 5, 8}, {6, 7, 5, 8}, {8}, {8}},  // channels last
      {{3, 5, 200, 10}, {3, 5, 200, 10}, {10}, {1, 10}},
      {{40, 1000}, {40, 1000}, {1000}, {40, 1}},  // rows and columns
      {{40, 1100}, {40, 1100}, {1100}, {40, 1}},
      {{3000, 2}, {3000, 2}, {2}, {3000, 1}},
      {{4, 8, 20, 20}, {4, 8, 20, 20}, {8, 1, 1}, {1, 8, 1, 1}},  // channels first, long rows
      {{4, 8, 5, 5}, {4, 8, 5, 5}, {8, 1, 1}, {4, 1, 5, 1}},      // short rows
      {{4, 6, 30, 8}, {4, 6, 30, 8}, {1, 6, 1, 8}, {1}},          // channels in blocks of 8
      {{2, 3, 4, 5, 6}, {2, 1, 4, 1, 6}, {3, 1, 5, 1}, {2, 3, 1, 1, 1}},
      {{7, 300}, {7, 1}, {300}, {1}},  // an outer product
      {{2048, 33}, {33}, {1}, {33}},   // all inputs repeat
      {{5, 129}, {5, 1}, {1, 1}, {5, 1}},
  };
  for (const auto& k : kCases) {
    for (const DataType type : {kF32, kF64, DataType::u8, kI64}) {
      const Scalar x = Scalar::input(0, type), y = Scalar::input(1, type), z = Scalar::input(2, type);
      const std::vector<HostTensor> inputs = {counting(type, k.a), counting(type, k.b), counting(type, k.c)};
      const auto test = [&](const Scalar& e, auto formula) {
        const auto reference = [&](const std::vector<double>& v) {
          return wrap(formula(static_cast<int64_t>(v[0]), static_cast<int64_t>(v[1]), static_cast<int64_t>(v[2])),
                      type);
        };
        expect_close({e, k.dims, inputs}, reference, 0, 0);
      };
      test(x * y + z, [](int64_t a, int64_t b, int64_t c) { return a * b + c; });
      test(x + abs(y) * abs(z), [](int64_t a, int64_t b, int64_t c) { return a + std::abs(b) * std::abs(c); });
      test(abs(y) - z, [](int64_t, int64_t b, int64_t c) { return std::abs(b) - c; });
    }
  }
}

TEST(Map, ReadsAnyStrides) {
  // Transposed, reversed and strided views of a 6 x 8 x 10 block.
  HostTensor block = counting(kF32, {6, 8, 10});
  HostTensor dense = counting(kF32, {10, 6, 8});
  const Dims dims = {10, 6, 8};
  const Scalar e = Scalar::input(0, kF32) * 2 + Scalar::input(1, kF32);
  for (const Dims& strides : {Dims{1, 80, 10}, Dims{-1, 80, -10}, Dims{0, 80, 1}, Dims{1, 0, 10}}) {
    const int64_t start = strides[0] < 0 ? 9 + 70 : 0;
    const MapProgram program = compile(e, dims, std::vector<Dims>{strides, row_major_strides(dims)});
    HostTensor out(kF32, dims);
    AlignedBytes scratch(program.scratch_bytes());
    const float* base = block.as<float>().data() + start;
    const std::vector<const void*> addresses = {base, dense.bytes.data()};
    program.run(addresses, out.bytes.data(), 0, 480, scratch.data());
    for (int64_t i = 0; i < 480; ++i) {
      const int64_t at = i / 48 * strides[0] + i / 8 % 6 * strides[1] + i % 8 * strides[2];
      const auto k = static_cast<size_t>(i);
      ASSERT_EQ(out.as<float>()[k], base[at] * 2 + dense.as<float>()[k]) << i;
    }
  }
}

// Any division into ranges gives the bits of the whole.
TEST(Map, RangesGiveTheSameBits) {
  std::mt19937 random(7);
  for (const auto& [dims, b] : std::vector<std::pair<Dims, Dims>>{
           {{20000}, {20000}}, {{500, 37}, {37}}, {{9, 7, 300}, {7, 1}}, {{11, 13, 17}, {13, 1}}, {{50, 400}, {1}}}) {
    const Scalar x = Scalar::input(0, kF32), y = Scalar::input(1, kF32);
    const MapCase c{sigmoid(x * y) + exp(y) * tanh(x), dims, {counting(kF32, dims), counting(kF32, b)}};
    const HostTensor whole = run(c);
    HostTensor parts(kF32, dims);
    const MapProgram program = compile_for(c);
    for (int64_t begin = 0; begin < whole.element_count();) {
      const int64_t end = std::min<int64_t>(begin + 1 + static_cast<int64_t>(random() % 3000), whole.element_count());
      run(program, c.inputs, parts.bytes.data(), begin, end);
      begin = end;
    }
    EXPECT_EQ(parts, whole);
  }
}

TEST(Map, WorksInPlace) {
  const Dims dims = {30, 333};
  const Scalar x = Scalar::input(0, kF32), y = Scalar::input(1, kF32);
  for (const auto& [e, b] : std::vector<std::pair<Scalar, Dims>>{{relu(x), {1}},
                                                                 {x * y + tanh(x), {333}},
                                                                 {exp(x * 0.01) + x * y, {30, 1}},
                                                                 {(x + y) * (x - 2) * x, {30, 333}}}) {
    MapCase c{e, dims, {counting(kF32, dims), counting(kF32, b)}};
    const HostTensor expected = run(c);
    HostTensor& target = c.inputs[0];
    run(compile_for(c), c.inputs, target.bytes.data(), 0, target.element_count());
    EXPECT_EQ(target, expected) << to_string(e);
  }
}

// Nothing beyond the range is written, and nothing beyond the inputs is read (under AddressSanitizer).
TEST(Map, StaysWithinItsRange) {
  for (int64_t n = 1; n < 150; ++n) {
    const MapCase c{Scalar::input(0, kF32) * Scalar::input(1, kF32) + exp(Scalar::input(0, kF32)),
                    {n},
                    {counting(kF32, {n}), counting(kF32, {n})}};
    std::vector<float> exact_a(c.inputs[0].as<float>().begin(), c.inputs[0].as<float>().end()), exact_b = exact_a;
    std::vector<float> out(static_cast<size_t>(n) + 2, -7.0f);
    const MapProgram program = compile_for(c);
    AlignedBytes scratch(program.scratch_bytes());
    const std::vector<const void*> addresses = {exact_a.data(), exact_b.data()};
    program.run(addresses, out.data() + 1, 0, n, scratch.data());
    EXPECT_EQ(out.front(), -7.0f);
    EXPECT_EQ(out.back(), -7.0f);
    EXPECT_NE(out[static_cast<size_t>(n)], -7.0f);
  }
}

Scalar random_expression(std::mt19937& random, DataType type, int inputs, int size) {
  std::vector<Scalar> pool;
  for (int i = 0; i < inputs; ++i) pool.push_back(Scalar::input(i, type));
  pool.push_back(Scalar::constant(is_float(type) ? 0.75 : 3.0, type));
  const auto pick = [&] { return pool[random() % pool.size()]; };
  for (int i = 0; i < size; ++i) {
    const Scalar a = pick(), b = pick(), c = pick();
    switch (random() % 9) {
      case 0:
        pool.push_back(a + b);
        break;
      case 1:
        pool.push_back(a - b);
        break;
      case 2:
        pool.push_back(is_float(type) ? tanh(a) * b : a * b);
        break;
      case 3:
        pool.push_back(min(a, b));
        break;
      case 4:
        pool.push_back(max(a, -b));
        break;
      case 5:
        pool.push_back(relu(a));
        break;
      case 6:
        pool.push_back(is_float(type) ? select(a < b, a, b) : select(a < b && !equal(c, b), c, b));
        break;
      case 7:
        pool.push_back(is_float(type) ? sigmoid(a) : binary(ScalarOp::mod, a, b));
        break;
      default:
        pool.push_back(is_float(type) ? a * 0.5 + b * 0.25 : a / b);
        break;
    }
  }
  return pool.back();
}

TEST(Map, RandomExpressions) {
  std::mt19937 random(8);
  const Dims shapes[] = {{3, 5, 2, 11}, {2, 11}, {5, 1, 1}, {1}, {3, 1, 2, 1}};
  for (int round = 0; round < 300; ++round) {
    const DataType type = std::vector<DataType>{kF32, kF64, DataType::i8, DataType::u16, DataType::i32}[random() % 5];
    std::vector<HostTensor> inputs;
    for (int i = 0; i < 3; ++i) {
      HostTensor t(kF64, shapes[random() % 5]);
      for (double& v : t.as<double>())
        v = is_float(type) ? std::normal_distribution<double>()(random) : static_cast<double>(random() % 200);
      inputs.push_back(t.to(type));
    }
    const Scalar e = random_expression(random, type, 3, 12);
    const double tolerance = type == kF32 ? 2e-5 : type == kF64 ? 1e-13 : 0;
    expect_close({e, {3, 5, 2, 11}, inputs}, tolerance, tolerance);
    if (testing::Test::HasFailure()) return;
    // Derivatives are what the interpreter mostly runs.
    if (is_float(type)) expect_close({derivative(e, 0), {3, 5, 2, 11}, inputs}, tolerance * 10, tolerance * 10);
  }
}

}  // namespace
}  // namespace arbalest
