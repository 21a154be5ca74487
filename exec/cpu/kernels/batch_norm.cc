// Tensors whose channels are the fastest axis (channels last, or rank 2) run through the vectorised passes over rows;
// the others, row-major with spatial axes behind the channels, are brought to channels last by the plan.
#include <cmath>

#include "exec/cpu/kernels/axis_view.h"
#include "exec/cpu/kernels/batch_norm_rows.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/parallel.h"

namespace arbalest::cpu {
namespace {

struct Size {
  int64_t rows, channels;
  int threads;
};

Size size_of_rows(PrepareContext& c) {
  const Dims dims = c.input_type(0).dims();
  const int64_t channels = dims.at(1);
  const int64_t rows = channels ? element_count(dims) / channels : 0;
  return {rows, channels, rows * channels < 16384 ? 1 : c.threads()};
}

// Two doubles and three Ts a channel.
template <class T>
struct ChannelScratch {
  double *sum, *products;
  T* t[3];

  static size_t bytes(int64_t channels) { return static_cast<size_t>(channels) * (2 * sizeof(double) + 3 * sizeof(T)); }
  ChannelScratch(void* memory, int64_t channels) : sum(static_cast<double*>(memory)), products(sum + channels) {
    for (int i = 0; i < 3; ++i) t[i] = reinterpret_cast<T*>(products + channels) + i * channels;
  }
};

template <class S>
void add_up_in_parallel(const S& sums, const Size& size) {
  const int64_t chunks = (size.channels + kChannelChunk - 1) / kChannelChunk;
  parallel_for(size.threads, chunks, [&](int64_t begin, int64_t end) {
    add_up(sums, begin * kChannelChunk, std::min(size.channels, end * kChannelChunk));
  });
}

template <class T>
void batch_norm_forward(const Size& size, double epsilon, const T* x, const T* scale, const T* bias, T* y, T* mean,
                        T* variance, const ChannelScratch<T>& s) {
  add_up_in_parallel(MomentSums<T>{x, size.rows, size.channels, s.sum, s.products}, size);
  const double count = static_cast<double>(size.rows);
  for (int64_t c = 0; c < size.channels; ++c) {
    const double offset = s.sum[c] / count, v = std::max(0.0, s.products[c] / count - offset * offset);
    const double exact_mean = static_cast<double>(x[c]) + offset,
                 factor = static_cast<double>(scale[c]) / std::sqrt(v + epsilon);
    mean[c] = static_cast<T>(exact_mean);
    variance[c] = static_cast<T>(v);
    s.t[0][c] = static_cast<T>(factor);
    // What rounding took from the mean goes into the shift.
    s.t[1][c] = static_cast<T>(static_cast<double>(bias[c]) + (static_cast<double>(mean[c]) - exact_mean) * factor);
  }
  parallel_for(size.threads, size.rows, [&](int64_t begin, int64_t end) {
    normalise(Normalise<T>{x, mean, s.t[0], s.t[1], y, size.channels}, begin, end);
  });
}

template <class T>
void backward(const Size& size, double epsilon, const T* x, const T* dy, const T* mean, const T* variance,
              const T* scale, T* dx, T* dscale, T* dbias, const ChannelScratch<T>& s) {
  add_up_in_parallel(GradientSums<T>{x, dy, mean, size.rows, size.channels, s.sum, s.products}, size);
  const double count = static_cast<double>(size.rows);
  for (int64_t c = 0; c < size.channels; ++c) {
    const double inverse = 1 / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    dbias[c] = static_cast<T>(s.sum[c]);
    dscale[c] = static_cast<T>(s.products[c] * inverse);
    s.t[0][c] = static_cast<T>(s.sum[c] / count);
    s.t[1][c] = static_cast<T>(s.products[c] * inverse * inverse / count);
    s.t[2][c] = static_cast<T>(static_cast<double>(scale[c]) * inverse);
  }
  parallel_for(size.threads, size.rows, [&](int64_t begin, int64_t end) {
    normalise_backward(NormaliseBackward<T>{x, dy, mean, s.t[0], s.t[1], s.t[2], dx, size.channels}, begin, end);
  });
}

}  // namespace

Prepared prepare(const BatchNorm& p, PrepareContext& c) {
  const Layout layout = Layout::channels_last(c.input_type(0).dims());
  c.require_input(0, layout);
  c.require_row_major(1);
  c.require_row_major(2);
  c.set_output(0, layout);
  c.may_overwrite(0, 0);
  const Size size = size_of_rows(c);
  return for_float_type(c.input_type(0).dtype, [&](auto tag) -> Prepared {
    using T = decltype(tag);
    Prepared prepared;
    prepared.implementation = "rows";
    prepared.scratch_bytes = ChannelScratch<T>::bytes(size.channels);
    prepared.bind = [size, epsilon = static_cast<double>(p.epsilon)](const KernelArgs& a) -> BoundKernel {
      if (size.rows == 0) return [] {};
      const auto in = [&](int i) { return static_cast<const T*>(a.inputs[i]); };
      const auto out = [&](int i) { return static_cast<T*>(a.outputs[i]); };
      return [=, x = in(0), scale = in(1), bias = in(2), y = out(0), mean = out(1), variance = out(2),
              scratch = ChannelScratch<T>(a.scratch, size.channels)] {
        batch_norm_forward(size, epsilon, x, scale, bias, y, mean, variance, scratch);
      };
    };
    return prepared;
  });
}

Prepared prepare(const BatchNormBackward& p, PrepareContext& c) {
  const Layout layout = Layout::channels_last(c.input_type(0).dims());
  c.require_input(0, layout);
  c.require_input(1, layout);
  for (int i = 2; i < 5; ++i) c.require_row_major(i);
  c.set_output(0, layout);
  c.may_overwrite(0, 0);
  c.may_overwrite(0, 1);
  const Size size = size_of_rows(c);
  return for_float_type(c.input_type(0).dtype, [&](auto tag) -> Prepared {
    using T = decltype(tag);
    Prepared prepared;
    prepared.implementation = "rows";
    prepared.scratch_bytes = ChannelScratch<T>::bytes(size.channels);
    prepared.bind = [size, epsilon = static_cast<double>(p.epsilon)](const KernelArgs& a) -> BoundKernel {
      if (size.rows == 0) return [] {};
      const auto in = [&](int i) { return static_cast<const T*>(a.inputs[i]); };
      const auto out = [&](int i) { return static_cast<T*>(a.outputs[i]); };
      return [=, x = in(0), dy = in(1), mean = in(2), variance = in(3), scale = in(4), dx = out(0), dscale = out(1),
              dbias = out(2), scratch = ChannelScratch<T>(a.scratch, size.channels)] {
        backward(size, epsilon, x, dy, mean, variance, scale, dx, dscale, dbias, scratch);
      };
    };
    return prepared;
  });
}

}  // namespace arbalest::cpu
