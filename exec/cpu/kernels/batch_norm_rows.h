// Batch normalisation of x [rows, channels], channels contiguous: the passes over memory, vectorised.
//
// Sums are taken about a pivot (the first row), in blocks of rows, the blocks added in double precision in a fixed
// order.
#pragma once

#include <cstdint>

namespace arbalest::cpu {

// Per channel: the sums over rows of x - pivot and of its square, where pivot is row 0.
template <class T>
struct MomentSums {
  const T* x;
  int64_t rows, channels;
  double *sum, *sum_of_squares;
};
// Per channel: the sums over rows of dy and of dy (x - mean).
template <class T>
struct GradientSums {
  const T *x, *dy, *mean;
  int64_t rows, channels;
  double *sum, *sum_of_products;
};
// y = (x - mean) scale + shift
template <class T>
struct Normalise {
  const T *x, *mean, *scale, *shift;
  T* y;
  int64_t channels;
};
// dx = (dy - offset - (x - mean) slope) scale
template <class T>
struct NormaliseBackward {
  const T *x, *dy, *mean, *offset, *slope, *scale;
  T* dx;
  int64_t channels;
};

// Channels [begin, end); begin is a multiple of kChannelChunk.
inline constexpr int64_t kChannelChunk = 32;
void add_up(const MomentSums<float>& s, int64_t begin, int64_t end);
void add_up(const MomentSums<double>& s, int64_t begin, int64_t end);
void add_up(const GradientSums<float>& s, int64_t begin, int64_t end);
void add_up(const GradientSums<double>& s, int64_t begin, int64_t end);
// Rows [begin, end).
void normalise(const Normalise<float>& n, int64_t begin, int64_t end);
void normalise(const Normalise<double>& n, int64_t begin, int64_t end);
void normalise_backward(const NormaliseBackward<float>& n, int64_t begin, int64_t end);
void normalise_backward(const NormaliseBackward<double>& n, int64_t begin, int64_t end);

}  // namespace arbalest::cpu
