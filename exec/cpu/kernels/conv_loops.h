// Convolution by plain loops over row-major tensors: for f64, and for what no library kernel does.
#pragma once

#include <array>

#include "graph/primitives/conv.h"

namespace arbalest::cpu {

// Sizes of a convolution, seen with three spatial axes (missing ones in front, of size 1).
struct ConvSizes {
  using Spatial = std::array<int64_t, 3>;

  int64_t batch = 0, groups = 1;
  int64_t inputs = 0, outputs = 0;  // channels of one group
  Spatial in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  Spatial stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};

  ConvSizes(const Window& window, int64_t groups, const Dims& x, const Dims& w, const Dims& y);
  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
  // Of one of the three passes: a multiplication and an addition an element of kernel and output.
  double flops() const;
};

// y = conv(x, w) + bias (may be null). Blocks of output planes are computed by `threads`.
template <class T>
void conv_forward(const ConvSizes& s, int threads, const T* x, const T* w, const T* bias, T* y);
template <class T>
void conv_backward_data(const ConvSizes& s, int threads, const T* dy, const T* w, T* dx);
// dbias may be null.
template <class T>
void conv_backward_weights(const ConvSizes& s, int threads, const T* x, const T* dy, T* dw, T* dbias);

}  // namespace arbalest::cpu
