#include "exec/cpu/kernels/conv_loops.h"

#include <algorithm>
#include <numeric>

#include "exec/cpu/parallel.h"

namespace arbalest::cpu {
namespace {

// Kernel positions [begin, end) of one axis that meet the input, for the output at `out`.
struct Span {
  int64_t begin, end;
};

Span kernel_span(const ConvSizes& s, size_t axis, int64_t out) {
  const int64_t start = out * s.stride[axis] - s.pad[axis], d = s.dilation[axis];
  const int64_t begin = start < 0 ? (-start + d - 1) / d : 0;
  const int64_t end = s.in[axis] > start ? (s.in[axis] - start + d - 1) / d : 0;
  return {begin, std::max(begin, std::min(end, s.kernel[axis]))};
}

// Calls f(input offset, kernel offset) in the planes that meet at output position `o`.
template <class F>
void for_window(const ConvSizes& s, const ConvSizes::Spatial& o, F&& f) {
  const Span z = kernel_span(s, 0, o[0]), y = kernel_span(s, 1, o[1]), x = kernel_span(s, 2, o[2]);
  const auto at = [&](size_t axis, int64_t k) { return o[axis] * s.stride[axis] - s.pad[axis] + k * s.dilation[axis]; };
  for (int64_t kz = z.begin; kz < z.end; ++kz)
    for (int64_t ky = y.begin; ky < y.end; ++ky)
      for (int64_t kx = x.begin; kx < x.end; ++kx)
        f((at(0, kz) * s.in[1] + at(1, ky)) * s.in[2] + at(2, kx), (kz * s.kernel[1] + ky) * s.kernel[2] + kx);
}

// Calls f(output offset, position) for each position of an output plane.
template <class F>
void for_outputs(const ConvSizes& s, F&& f) {
  int64_t offset = 0;
  for (ConvSizes::Spatial o{0, 0, 0}; o[0] < s.out[0]; ++o[0])
    for (o[1] = 0; o[1] < s.out[1]; ++o[1])
      for (o[2] = 0; o[2] < s.out[2]; ++o[2]) f(offset++, o);
}

}  // namespace

ConvSizes::ConvSizes(const Window& window, int64_t group_count, const Dims& x, const Dims& w, const Dims& y)
    : batch(x[0]), groups(group_count), inputs(w[1]), outputs(w[0] / group_count) {
  const size_t rank = x.size() - 2;
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = 3 - rank + i;
    in[axis] = x[2 + i];
    out[axis] = y[2 + i];
    kernel[axis] = w[2 + i];
    stride[axis] = window.strides[i];
    dilation[axis] = window.dilations[i];
    pad[axis] = window.pads_begin[i];
  }
}

double ConvSizes::flops() const {
  return 2.0 * static_cast<double>(batch * groups * outputs) * static_cast<double>(out_size()) *
         static_cast<double>(inputs * kernel_size());
}

template <class T>
void conv_forward(const ConvSizes& s, int threads, const T* x, const T* w, const T* bias, T* y) {
  const int64_t planes = s.groups * s.outputs;
  parallel_for(threads, s.batch * planes, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t m = plane % planes, group = m / s.outputs;
      T* to = y + plane * s.out_size();
      std::fill_n(to, s.out_size(), bias ? bias[m] : T{0});
      for (int64_t c = 0; c < s.inputs; ++c) {
        const T* from = x + ((plane / planes * s.groups + group) * s.inputs + c) * s.in_size();
        const T* kernel = w + (m * s.inputs + c) * s.kernel_size();
        for_outputs(s, [&](int64_t offset, const ConvSizes::Spatial& o) {
          T sum = 0;
          for_window(s, o, [&](int64_t in, int64_t k) { sum += from[in] * kernel[k]; });
          to[offset] += sum;
        });
      }
    }
  });
}

template <class T>
void conv_backward_data(const ConvSizes& s, int threads, const T* dy, const T* w, T* dx) {
  const int64_t planes = s.groups * s.inputs;
  parallel_for(threads, s.batch * planes, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t group = plane % planes / s.inputs, c = plane % s.inputs;
      T* to = dx + plane * s.in_size();
      std::fill_n(to, s.in_size(), T{0});
      for (int64_t o = 0; o < s.outputs; ++o) {
        const int64_t m = group * s.outputs + o;
        const T* from = dy + (plane / planes * s.groups * s.outputs + m) * s.out_size();
        const T* kernel = w + (m * s.inputs + c) * s.kernel_size();
        for_outputs(s, [&](int64_t offset, const ConvSizes::Spatial& position) {
          for_window(s, position, [&](int64_t in, int64_t k) { to[in] += from[offset] * kernel[k]; });
        });
      }
    }
  });
}

template <class T>
void conv_backward_weights(const ConvSizes& s, int threads, const T* x, const T* dy, T* dw, T* dbias) {
  parallel_for(threads, s.groups * s.outputs, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) {
      T* kernels = dw + m * s.inputs * s.kernel_size();
      std::fill_n(kernels, s.inputs * s.kernel_size(), T{0});
      if (dbias) dbias[m] = 0;
      for (int64_t n = 0; n < s.batch; ++n) {
        const T* from = dy + (n * s.groups * s.outputs + m) * s.out_size();
        if (dbias) dbias[m] = std::accumulate(from, from + s.out_size(), dbias[m]);
        for (int64_t c = 0; c < s.inputs; ++c) {
          const T* image = x + ((n * s.groups + m / s.outputs) * s.inputs + c) * s.in_size();
          T* kernel = kernels + c * s.kernel_size();
          for_outputs(s, [&](int64_t offset, const ConvSizes::Spatial& o) {
            for_window(s, o, [&](int64_t in, int64_t k) { kernel[k] += image[in] * from[offset]; });
          });
        }
      }
    }
  });
}

template void conv_forward(const ConvSizes&, int, const float*, const float*, const float*, float*);
template void conv_forward(const ConvSizes&, int, const double*, const double*, const double*, double*);
template void conv_backward_data(const ConvSizes&, int, const float*, const float*, float*);
template void conv_backward_data(const ConvSizes&, int, const double*, const double*, double*);
template void conv_backward_weights(const ConvSizes&, int, const float*, const float*, float*, float*);
template void conv_backward_weights(const ConvSizes&, int, const double*, const double*, double*, double*);

}  // namespace arbalest::cpu
