// RandomUniform: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).
//
// Key: the seed. Counter words: element / 4, step, stream, learner, each modulo 2^32. Element e takes output word e %
// 4: its upper 24 bits in float32, all 32 in float64, so that a float64 run draws nearly the numbers of a float32 run.
#include <algorithm>
#include <array>

#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/kernels/loops.h"
#include "exec/cpu/parallel.h"

namespace arbalest::cpu {

namespace {

using Words = std::array<uint32_t, 4>;

Words philox(Words counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

template <class T>
T uniform(uint32_t word) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(word >> 8) * 0x1p-24f;
  } else {
    return word * 0x1p-32;
  }
}

template <class T>
BoundKernel bind_uniform(uint32_t stream, int64_t count, int threads, const KernelArgs& a) {
  return [stream, count, threads, to = static_cast<T*>(a.outputs[0]), state = a.counter] {
    const auto key0 = static_cast<uint32_t>(state->seed);
    const auto key1 = static_cast<uint32_t>(state->seed >> 32);
    const auto step = static_cast<uint32_t>(state->step);
    const auto learner = static_cast<uint32_t>(state->learner);
    parallel_for(threads, (count + 3) / 4, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const Words words = philox({static_cast<uint32_t>(block), step, stream, learner}, key0, key1);
        const int64_t n = std::min<int64_t>(4, count - 4 * block);
        for (int64_t i = 0; i < n; ++i) to[4 * block + i] = uniform<T>(words[static_cast<size_t>(i)]);
      }
    });
  };
}

}  // namespace

Prepared prepare(const RandomUniform& p, PrepareContext& c) {
  if (p.dtype != DataType::f32 && p.dtype != DataType::f64) {
    throw Error(ErrorKind::unsupported, "random {}: float32 and float64 are implemented", name_of(p.dtype));
  }
  const int64_t count = element_count(c.output_type(0).dims());
  const int threads = threads_for(c.threads(), 4 * count);
  const auto stream = static_cast<uint32_t>(p.stream);
  return {[=, type = p.dtype](const KernelArgs& a) {
            return type == DataType::f32 ? bind_uniform<float>(stream, count, threads, a)
                                         : bind_uniform<double>(stream, count, threads, a);
          },
          0, "philox4x32-10", 0};
}

}  // namespace arbalest::cpu
