#include <cmath>

#include "exec/cpu/kernels/axis_view.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/parallel.h"

namespace arbalest::cpu {
namespace {

// Channels around c: floor((size - 1) / 2) before it and ceil((size - 1) / 2) behind it (ONNX LRN).
struct ChannelWindow {
  AxisView view;  // [batch, channels, pixels]
  int64_t before, after;
  double alpha_over_size, beta, bias;
};

template <class P>
ChannelWindow channel_window(const P& p, const Dims& dims) {
  return {AxisView(dims, 1),
          (p.size - 1) / 2,
          p.size / 2,
          static_cast<double>(p.alpha) / static_cast<double>(p.size),
          p.beta,
          p.bias};
}

// base[c] = bias + alpha/size sum of squares around c, for the channels of one pixel.
template <class T>
T base(const ChannelWindow& s, const T* x, int64_t c) {
  T sum = 0;
  const int64_t first = std::max<int64_t>(0, c - s.before), last = std::min(s.view.size - 1, c + s.after);
  for (int64_t k = first; k <= last; ++k) sum += x[k * s.view.inner] * x[k * s.view.inner];
  return static_cast<T>(s.bias) + static_cast<T>(s.alpha_over_size) * sum;
}

template <class F>
void for_pixels(const ChannelWindow& s, int threads, F&& f) {
  parallel_for(threads, s.view.outer * s.view.inner, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i / s.view.inner * s.view.size * s.view.inner + i % s.view.inner);
  });
}

// dx[c] = dy[c] base[c]^-beta - 2 alpha/size beta x[c] sum over the k whose window holds c of dy[k] x[k]
// base[k]^(-beta-1)
template <class T>
void backward_pixel(const ChannelWindow& s, const T* x, const T* dy, T* dx) {
  const int64_t stride = s.view.inner;
  for (int64_t c = 0; c < s.view.size; ++c) {
    const int64_t first = std::max<int64_t>(0, c - s.after), last = std::min(s.view.size - 1, c + s.before);
    T sum = 0;
    for (int64_t k = first; k <= last; ++k)
      sum += dy[k * stride] * x[k * stride] * std::pow(base(s, x, k), static_cast<T>(-s.beta - 1));
    dx[c * stride] = dy[c * stride] * std::pow(base(s, x, c), static_cast<T>(-s.beta)) -
                     static_cast<T>(2 * s.alpha_over_size * s.beta) * x[c * stride] * sum;
  }
}

}  // namespace

Prepared prepare(const Lrn& p, PrepareContext& c) {
  c.require_row_major(0);
  const ChannelWindow s = channel_window(p, c.input_type(0).dims());
  const int threads = c.threads();
  return for_float_type(c.input_type(0).dtype, [&](auto tag) -> Prepared {
    using T = decltype(tag);
    return {[s, threads](const KernelArgs& a) -> BoundKernel {
              const T* x = static_cast<const T*>(a.inputs[0]);
              T* y = static_cast<T*>(a.outputs[0]);
              return [=] {
                for_pixels(s, threads, [&](int64_t o) {
                  for (int64_t ch = 0; ch < s.view.size; ++ch) {
                    const int64_t i = o + ch * s.view.inner;
                    y[i] = x[i] * std::pow(base(s, x + o, ch), static_cast<T>(-s.beta));
                  }
                });
              };
            },
            0, "loops", 0};
  });
}

Prepared prepare(const LrnBackward& p, PrepareContext& c) {
  c.require_row_major(0);
  c.require_row_major(1);
  const ChannelWindow s = channel_window(p, c.input_type(0).dims());
  const int threads = c.threads();
  return for_float_type(c.input_type(0).dtype, [&](auto tag) -> Prepared {
    using T = decltype(tag);
    return {[s, threads](const KernelArgs& a) -> BoundKernel {
              const T* x = static_cast<const T*>(a.inputs[0]);
              const T* dy = static_cast<const T*>(a.inputs[1]);
              T* dx = static_cast<T*>(a.outputs[0]);
              return [=] { for_pixels(s, threads, [&](int64_t o) { backward_pixel(s, x + o, dy + o, dx + o); }); };
            },
            0, "loops", 0};
  });
}

}  // namespace arbalest::cpu
