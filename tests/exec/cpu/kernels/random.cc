#include <gtest/gtest.h>

#include <cmath>

#include "tests/exec/kernel_harness.h"

namespace arbalest {
namespace {

struct Philox {
  uint32_t counter[4];
  uint32_t key[2];
};

// Philox4x32-10 as the paper's listing states it.
void philox(Philox& p) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = static_cast<uint64_t>(p.counter[0]) * 0xD2511F53u;
    const uint64_t b = static_cast<uint64_t>(p.counter[2]) * 0xCD9E8D57u;
    const uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ p.counter[1] ^ p.key[0], static_cast<uint32_t>(b),
                              static_cast<uint32_t>(a >> 32) ^ p.counter[3] ^ p.key[1], static_cast<uint32_t>(a)};
    std::copy(next, next + 4, p.counter);
    p.key[0] += 0x9E3779B9u;
    p.key[1] += 0xBB67AE85u;
  }
}

HostTensor draw(DataType type, int64_t count, const StepCounter& counter, int64_t stream, int threads = 1) {
  KernelOptions o;
  o.outputs = {{type, Shape(Dims{count})}};
  o.counter = counter;
  o.threads = threads;
  return run_kernel(RandomUniform{Shape(Dims{count}), type, stream}, {}, o).outputs[0];
}

// The vectors that the authors publish with Random123 (kat_vectors).
TEST(RandomUniform, ReferenceOfThisTestKnowsThePublishedVectors) {
  Philox p{{0, 0, 0, 0}, {0, 0}};
  philox(p);
  EXPECT_EQ(p.counter[0], 0x6627e8d5u);
  EXPECT_EQ(p.counter[3], 0x9b00dbd8u);
  p = {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}};
  philox(p);
  EXPECT_EQ(p.counter[0], 0xd16cfe09u);
  EXPECT_EQ(p.counter[1], 0x94fdccebu);
  EXPECT_EQ(p.counter[2], 0x5001e420u);
  EXPECT_EQ(p.counter[3], 0x24126ea1u);
}

TEST(RandomUniform, EqualsPhilox) {
  const StepCounter counters[] = {{0, 0, 0}, {0x299f31d0a4093822, 0x03707344, 0x85a308d3}, {1, 2, 3}};
  for (const StepCounter& c : counters) {
    for (const int64_t count : {0, 1, 3, 4, 5, 1000}) {
      const int64_t stream = 0x13198a2e;
      const HostTensor f32 = draw(DataType::f32, count, c, stream);
      const HostTensor f64 = draw(DataType::f64, count, c, stream);
      for (int64_t i = 0; i < count; ++i) {
        Philox p{{static_cast<uint32_t>(i / 4), static_cast<uint32_t>(c.step), static_cast<uint32_t>(stream),
                  static_cast<uint32_t>(c.learner)},
                 {static_cast<uint32_t>(c.seed), static_cast<uint32_t>(c.seed >> 32)}};
        philox(p);
        const uint32_t word = p.counter[i % 4];
        EXPECT_EQ(f32.as<float>()[static_cast<size_t>(i)], static_cast<float>(word / 256) / 16777216.0f);
        EXPECT_EQ(f64.as<double>()[static_cast<size_t>(i)], word / 4294967296.0);
      }
    }
  }
}

TEST(RandomUniform, EachPartOfTheCounterMatters) {
  const StepCounter base{5, 1, 7};
  const HostTensor x = draw(DataType::f32, 64, base, 3);
  EXPECT_EQ(x, draw(DataType::f32, 64, base, 3));
  EXPECT_FALSE(x == draw(DataType::f32, 64, base, 4));
  EXPECT_FALSE(x == draw(DataType::f32, 64, {6, 1, 7}, 3));
  EXPECT_FALSE(x == draw(DataType::f32, 64, {5, 2, 7}, 3));
  EXPECT_FALSE(x == draw(DataType::f32, 64, {5, 1, 8}, 3));
}

TEST(RandomUniform, IsUniformAndDoesNotDependOnThreads) {
  const int64_t count = 200001;
  const HostTensor x = draw(DataType::f32, count, {42, 0, 0}, 0);
  EXPECT_EQ(x, draw(DataType::f32, count, {42, 0, 0}, 0, 2));
  int64_t bins[10] = {};
  for (const float v : x.as<float>()) {
    ASSERT_GE(v, 0.0f);
    ASSERT_LT(v, 1.0f);
    ++bins[static_cast<int>(v * 10)];
  }
  double chi2 = 0;
  for (const int64_t b : bins) chi2 += std::pow(static_cast<double>(b) - count / 10.0, 2) / (count / 10.0);
  EXPECT_LT(chi2, 33.7);  // nine degrees of freedom, p = 1e-4
}

}  // namespace
}  // namespace arbalest
