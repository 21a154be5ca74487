#include <cmath>

#include "exec/cpu/kernels/axis_view.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/parallel.h"

namespace arbalest::cpu {
namespace {

// One line along the axis, elements `stride` apart; y may be x.
template <class T>
void softmax_line(const T* x, T* y, int64_t size, int64_t stride, bool log) {
  T top = x[0];
  for (int64_t c = 1; c < size; ++c) top = std::max(top, x[c * stride]);
  T sum = 0;
  if (log) {
    for (int64_t c = 0; c < size; ++c) sum += std::exp(x[c * stride] - top);
    const T log_sum = std::log(sum);
    for (int64_t c = 0; c < size; ++c) y[c * stride] = x[c * stride] - top - log_sum;
  } else {
    for (int64_t c = 0; c < size; ++c) sum += y[c * stride] = std::exp(x[c * stride] - top);
    for (int64_t c = 0; c < size; ++c) y[c * stride] /= sum;
  }
}

template <class T>
void softmax_backward_line(const T* y, const T* dy, T* dx, int64_t size, int64_t stride, bool log) {
  T sum = 0;
  for (int64_t c = 0; c < size; ++c) sum += log ? dy[c * stride] : dy[c * stride] * y[c * stride];
  for (int64_t c = 0; c < size; ++c) {
    const int64_t i = c * stride;
    dx[i] = log ? dy[i] - std::exp(y[i]) * sum : y[i] * (dy[i] - sum);
  }
}

// Calls line(offset) for each line along the axis.
template <class F>
void for_lines(const AxisView& v, int threads, F&& line) {
  if (v.size == 0) return;
  parallel_for(v.size * v.inner * v.outer < 16384 ? 1 : threads, v.outer * v.inner, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) line(i / v.inner * v.size * v.inner + i % v.inner);
  });
}

}  // namespace

Prepared prepare(const Softmax& p, PrepareContext& c) {
  c.require_row_major(0);
  c.may_overwrite(0, 0);
  const AxisView v(c.input_type(0).dims(), p.axis);
  const int threads = c.threads();
  return for_float_type(c.input_type(0).dtype, [&](auto tag) -> Prepared {
    using T = decltype(tag);
    return {[v, threads, log = p.log](const KernelArgs& a) -> BoundKernel {
              const T* x = static_cast<const T*>(a.inputs[0]);
              T* y = static_cast<T*>(a.outputs[0]);
              return
                  [=] { for_lines(v, threads, [&](int64_t o) { softmax_line(x + o, y + o, v.size, v.inner, log); }); };
            },
            0, "loops", 0};
  });
}

Prepared prepare(const SoftmaxBackward& p, PrepareContext& c) {
  c.require_row_major(0);
  c.require_row_major(1);
  c.may_overwrite(0, 0);
  c.may_overwrite(0, 1);
  const AxisView v(c.input_type(0).dims(), p.axis);
  const int threads = c.threads();
  return for_float_type(c.input_type(0).dtype, [&](auto tag) -> Prepared {
    using T = decltype(tag);
    return {[v, threads, log = p.log](const KernelArgs& a) -> BoundKernel {
              const T* y = static_cast<const T*>(a.inputs[0]);
              const T* dy = static_cast<const T*>(a.inputs[1]);
              T* dx = static_cast<T*>(a.outputs[0]);
              return [=] {
                for_lines(v, threads,
                          [&](int64_t o) { softmax_backward_line(y + o, dy + o, dx + o, v.size, v.inner, log); });
              };
            },
            0, "loops", 0};
  });
}

}  // namespace arbalest::cpu
