// Pooling at one output position, channels contiguous: the taps are the places of its window that lie inside the input.
#pragma once

#include <cstdint>

namespace arbalest::cpu {

// offset: of the tap's first channel, in elements from the image's begin. place: row-major inside the kernel.
struct Tap {
  int64_t offset;
  int32_t place;
};

struct Taps {
  const Tap* begin;
  const Tap* end;
};

// y[c] = max over taps of x[tap + c]; position[c] = place of the first tap that has it. NaN wins.
void max_of_taps(const float* x, Taps taps, int64_t channels, float* y, int32_t* position);
void max_of_taps(const double* x, Taps taps, int64_t channels, double* y, int32_t* position);
// dx[tap + c] += dy[c] where the tap's place is position[c]; without `add` dx is written: for windows that do not
// overlap.
void spread_to_taps(const float* dy, const int32_t* position, Taps taps, int64_t channels, bool add, float* dx);
void spread_to_taps(const double* dy, const int32_t* position, Taps taps, int64_t channels, bool add, double* dx);
// y[c] = factor sum over taps of x[tap + c]
void sum_of_taps(const float* x, Taps taps, int64_t channels, float factor, float* y);
void sum_of_taps(const double* x, Taps taps, int64_t channels, double factor, double* y);
// dx[tap + c] += factor dy[c]
void add_to_taps(const float* dy, Taps taps, int64_t channels, float factor, float* dx);
void add_to_taps(const double* dy, Taps taps, int64_t channels, double factor, double* dx);

}  // namespace arbalest::cpu
