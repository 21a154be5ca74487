#include "data/order.h"

#include <numeric>
#include <utility>

#include "graph/base/error.h"

namespace arbalest {
namespace {

constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

void fill_permutation(std::span<uint32_t> permutation, uint64_t seed, uint64_t stream) {
  std::iota(permutation.begin(), permutation.end(), 0u);
  const uint64_t key = mix(mix(seed + kGoldenGamma) + stream * kGoldenGamma);
  for (uint64_t i = permutation.size(); i-- > 1;) {
    // The high word of a 64-bit random number times the range: its bias, range / 2^64, is beyond notice.
    const uint64_t random = mix(key + (i + 1) * kGoldenGamma);
    const auto j = static_cast<uint64_t>(static_cast<unsigned __int128>(random) * (i + 1) >> 64);
    std::swap(permutation[i], permutation[j]);
  }
}

DataOrder::DataOrder(uint32_t examples, uint64_t seed) : seed_(seed), permutation_(examples) {
  ensure(examples > 0, "an order of no examples");
  fill_permutation(permutation_, seed_, 0);
}

uint32_t DataOrder::sample(uint64_t position) {
  const uint64_t n = permutation_.size();
  if (position - epoch_begin_ >= n) {  // also when position < epoch_begin_
    const uint64_t epoch = position / n;
    fill_permutation(permutation_, seed_, epoch);
    epoch_begin_ = epoch * n;
  }
  return permutation_[position - epoch_begin_];
}

}  // namespace arbalest
