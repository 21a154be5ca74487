// Pooling in channels last. What a window covers is listed when the plan is built; the same list serves every image.
#include <cstring>
#include <limits>

#include "exec/cpu/kernels/axis_view.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/kernels/pool_taps.h"
#include "exec/cpu/parallel.h"

namespace arbalest::cpu {
namespace {

// Windows of all output positions of an image, and what the average divides by.
struct Windows {
  int64_t images, channels, input_positions, output_positions;
  std::vector<Tap> taps;
  std::vector<int64_t> first;   // by output position, one more at the end
  std::vector<double> factors;  // 1 / divisor; 1 for the maximum
  bool overlap = false;         // some input lies in two windows

  Taps at(int64_t position) const { return {taps.data() + first[position], taps.data() + first[position + 1]}; }
  int64_t input_elements() const { return images * channels * input_positions; }
};

int64_t positions(const Dims& dims) {
  int64_t n = 1;
  for (size_t i = 2; i < dims.size(); ++i) n *= dims[i];
  return n;
}

// Adds an index in row-major order; false after the last.
bool next(Dims& index, const Dims& sizes) {
  for (size_t axis = sizes.size(); axis-- > 0;) {
    if (++index[axis] < sizes[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

enum class Divisor { none, inside, padded };

// Lists the taps of the window at `output`; gives how many of its places lie inside input and padding.
int64_t list_window(const Window& w, const Dims& kernel, const Dims& input, const Dims& output, int64_t channels,
                    Windows& out) {
  const size_t axes = kernel.size();
  Dims k(axes, 0);
  int64_t in_padding = 0;
  int32_t place = 0;
  do {
    int64_t offset = 0;
    bool inside = true, padded = true;
    for (size_t a = 0; a < axes; ++a) {
      const int64_t x = output[a] * w.strides[a] + k[a] * w.dilations[a] - w.pads_begin[a];
      inside &= x >= 0 && x < input[a];
      padded &= x < input[a] + w.pads_end[a];
      offset = offset * input[a] + x;
    }
    in_padding += padded;
    if (inside) out.taps.push_back({offset * channels, place});
    ++place;
  } while (next(k, kernel));
  return in_padding;
}

Windows list_windows(const Window& w, const Shape& kernel_shape, const Dims& input_dims, const Dims& output_dims,
                     Divisor divisor) {
  const Dims kernel = kernel_shape.dims(), input(input_dims.begin() + 2, input_dims.end()),
             output(output_dims.begin() + 2, output_dims.end());
  Windows out{input_dims[0], input_dims[1], positions(input_dims), positions(output_dims), {}, {0}, {}};
  if (out.output_positions > 0) {
    Dims index(kernel.size(), 0);
    do {
      const int64_t padded = list_window(w, kernel, input, index, out.channels, out);
      const int64_t inside = static_cast<int64_t>(out.taps.size()) - out.first.back();
      const int64_t count = divisor == Divisor::padded ? padded : inside;
      out.factors.push_back(divisor == Divisor::none || count == 0 ? 1 : 1 / static_cast<double>(count));
      out.first.push_back(static_cast<int64_t>(out.taps.size()));
    } while (next(index, output));
  }
  for (size_t a = 0; a < kernel.size(); ++a) out.overlap |= w.strides[a] < (kernel[a] - 1) * w.dilations[a] + 1;
  return out;
}

// Calls f(image, position) for all; images are shared out among threads.
template <class F>
void for_positions(const Windows& w, int threads, F&& f) {
  parallel_for(threads, w.images, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      for (int64_t p = 0; p < w.output_positions; ++p) f(n, p);
  });
}

// What all four kernels have in common: channels last everywhere, one function for float32 and one for float64.
template <class Run>
Prepared prepare_pool(PrepareContext& c, Windows windows, Run run) {
  for (int i = 0; i < c.input_count(); ++i) c.require_input(i, Layout::channels_last(c.input_type(i).dims()));
  for (int o = 0; o < c.output_count(); ++o) c.set_output(o, Layout::channels_last(c.output_type(o).dims()));
  const auto shared = std::make_shared<const Windows>(std::move(windows));
  const int threads = shared->input_elements() < 16384 ? 1 : c.threads();
  return for_float_type(c.input_type(0).dtype, [&](auto tag) -> Prepared {
    Prepared prepared;
    prepared.implementation = "taps";
    prepared.bind = [shared, threads, run, tag](const KernelArgs& a) -> BoundKernel {
      const std::vector<void*> in(a.inputs.begin(), a.inputs.end()), out(a.outputs.begin(), a.outputs.end());
      return [shared, threads, run, tag, in, out] { run(tag, *shared, threads, in, out); };
    };
    return prepared;
  });
}

using Addresses = std::vector<void*>;

}  // namespace

Prepared prepare(const MaxPool& p, PrepareContext& c) {
  Windows w = list_windows(p.window, p.kernel, c.input_type(0).dims(), c.output_type(0).dims(), Divisor::none);
  return prepare_pool(c, std::move(w),
                      [](auto tag, const Windows& w, int threads, const Addresses& in, const Addresses& out) {
                        using T = decltype(tag);
                        const T* x = static_cast<const T*>(in[0]);
                        T* y = static_cast<T*>(out[0]);
                        int32_t* position = static_cast<int32_t*>(out[1]);
                        for_positions(w, threads, [&](int64_t n, int64_t p) {
                          const int64_t o = (n * w.output_positions + p) * w.channels;
                          max_of_taps(x + n * w.input_positions * w.channels, w.at(p), w.channels, y + o, position + o);
                        });
                      });
}

Prepared prepare(const MaxPoolBackward& p, PrepareContext& c) {
  Windows w = list_windows(p.window, p.kernel, c.output_type(0).dims(), c.input_type(0).dims(), Divisor::none);
  return prepare_pool(
      c, std::move(w), [](auto tag, const Windows& w, int threads, const Addresses& in, const Addresses& out) {
        using T = decltype(tag);
        const T* dy = static_cast<const T*>(in[0]);
        const int32_t* position = static_cast<const int32_t*>(in[1]);
        T* dx = static_cast<T*>(out[0]);
        std::memset(dx, 0, w.input_elements() * sizeof(T));
        for_positions(w, threads, [&](int64_t n, int64_t p) {
          const int64_t o = (n * w.output_positions + p) * w.channels;
          spread_to_taps(dy + o, position + o, w.at(p), w.channels, w.overlap, dx + n * w.input_positions * w.channels);
        });
      });
}

Prepared prepare(const AveragePool& p, PrepareContext& c) {
  Windows w = list_windows(p.window, p.kernel, c.input_type(0).dims(), c.output_type(0).dims(),
                           p.count_include_pad ? Divisor::padded : Divisor::inside);
  return prepare_pool(c, std::move(w),
                      [](auto tag, const Windows& w, int threads, const Addresses& in, const Addresses& out) {
                        using T = decltype(tag);
                        const T* x = static_cast<const T*>(in[0]);
                        T* y = static_cast<T*>(out[0]);
                        for_positions(w, threads, [&](int64_t n, int64_t p) {
                          sum_of_taps(x + n * w.input_positions * w.channels, w.at(p), w.channels,
                                      static_cast<T>(w.factors[p]), y + (n * w.output_positions + p) * w.channels);
                        });
                      });
}

Prepared prepare(const AveragePoolBackward& p, PrepareContext& c) {
  Windows w = list_windows(p.window, p.kernel, c.output_type(0).dims(), c.input_type(0).dims(),
                           p.count_include_pad ? Divisor::padded : Divisor::inside);
  return prepare_pool(c, std::move(w),
                      [](auto tag, const Windows& w, int threads, const Addresses& in, const Addresses& out) {
                        using T = decltype(tag);
                        const T* dy = static_cast<const T*>(in[0]);
                        T* dx = static_cast<T*>(out[0]);
                        std::memset(dx, 0, w.input_elements() * sizeof(T));
                        for_positions(w, threads, [&](int64_t n, int64_t p) {
                          add_to_taps(dy + (n * w.output_positions + p) * w.channels, w.at(p), w.channels,
                                      static_cast<T>(w.factors[p]), dx + n * w.input_positions * w.channels);
                        });
                      });
}

}  // namespace arbalest::cpu
