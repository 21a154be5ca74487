// The order in which examples are visited: one endless stream, epoch after epoch, each epoch a permutation of all
// examples that follows from (seed, epoch) alone. Equal on every machine and compiler.
//
// Random numbers are SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) as a function of (seed, stream, index); the
// permutation is Fisher and Yates' (Knuth, The Art of Computer Programming 2, algorithm 3.4.2P).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace arbalest {

// Fills with 0 .. size - 1 in a random order.
void fill_permutation(std::span<uint32_t> permutation, uint64_t seed, uint64_t stream);

class DataOrder {
 public:
  DataOrder(uint32_t examples, uint64_t seed);

  // The example at a position of the stream. Any position may be asked for; entering another epoch costs one pass over
  // a permutation, which is kept. Allocates nothing.
  uint32_t sample(uint64_t position);

 private:
  uint64_t seed_;
  uint64_t epoch_begin_ = 0;           // position of the first example of the epoch in permutation_
  std::vector<uint32_t> permutation_;  // of that epoch
};

}  // namespace arbalest
