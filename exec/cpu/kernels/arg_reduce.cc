// ArgReduce: the place of the greatest or least element along one axis; a NaN counts as both (as NumPy has it).
#include <algorithm>

#include "exec/cpu/kernels/axis_view.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/kernels/loops.h"
#include "exec/cpu/kernels/number_types.h"
#include "exec/cpu/parallel.h"

namespace arbalest::cpu {

namespace {

constexpr int64_t kNeighbours = 64;  // neighbouring results that are found in one pass

// Whether x takes the place of the best so far, which comes before it.
template <bool max, bool last, class T>
bool replaces(T x, T best) {
  if (x != x) return last || best == best;
  const T& a = max ? x : best;
  const T& b = max ? best : x;
  return last ? a >= b : a > b;
}

// Results [begin, end) of a row of v.inner.
template <bool max, bool last, class T>
void find_in_columns(const T* in, const AxisView& v, int64_t begin, int64_t end, int64_t* out) {
  T best[kNeighbours];
  for (int64_t j = begin; j < end; ++j) {
    best[j - begin] = in[j];
    out[j] = 0;
  }
  for (int64_t k = 1; k < v.size; ++k) {
    for (int64_t j = begin; j < end; ++j) {
      const T x = in[k * v.inner + j];
      if (!replaces<max, last>(x, best[j - begin])) continue;
      best[j - begin] = x;
      out[j] = k;
    }
  }
}

// The place in one contiguous row.
template <bool max, bool last, class T>
int64_t find_in_row(const T* in, int64_t n) {
  int64_t place = 0;
  for (int64_t k = 1; k < n; ++k) place = replaces<max, last>(in[k], in[place]) ? k : place;
  return place;
}

template <bool max, bool last, class T>
BoundKernel bind(const AxisView& v, int threads, const KernelArgs& a) {
  return [v, threads, in = static_cast<const T*>(a.inputs[0]), out = static_cast<int64_t*>(a.outputs[0])] {
    if (v.inner == 1) {
      parallel_for(threads, v.outer, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = find_in_row<max, last>(in + i * v.size, v.size);
      });
      return;
    }
    const int64_t tiles = (v.inner + kNeighbours - 1) / kNeighbours;
    parallel_for(threads, v.outer * tiles, [&](int64_t first, int64_t end) {
      for (int64_t unit = first; unit < end; ++unit) {
        const int64_t row = unit / tiles;
        const int64_t begin = unit % tiles * kNeighbours;
        find_in_columns<max, last>(in + row * v.size * v.inner, v, begin, std::min(begin + kNeighbours, v.inner),
                                   out + row * v.inner);
      }
    });
  };
}

template <class T>
Prepared arg_reduce(const ArgReduce& p, const AxisView& v, int threads) {
  const bool max = p.kind == Reduction::max;
  const auto function = max ? (p.last ? bind<true, true, T> : bind<true, false, T>)
                            : (p.last ? bind<false, true, T> : bind<false, false, T>);
  return {[=](const KernelArgs& a) { return function(v, threads, a); }, 0, "loops", 0};
}

}  // namespace

Prepared prepare(const ArgReduce& p, PrepareContext& c) {
  if (!c.input_layout(0).is_row_major()) c.require_row_major(0);
  const Dims dims = c.input_type(0).dims();
  const AxisView v(dims, p.axis);
  require(v.size > 0 || v.outer * v.inner == 0, "axis {} of {}: no element to choose from", p.axis, to_string(dims));
  const int threads = threads_for(c.threads(), element_count(dims));
  return for_number_type(c.input_type(0).dtype, "the place of a maximum",
                         [&](auto tag) { return arg_reduce<decltype(tag)>(p, v, threads); });
}

}  // namespace arbalest::cpu
