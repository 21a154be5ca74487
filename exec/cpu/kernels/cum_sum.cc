// CumSum: running sums, of several neighbouring columns in one pass; float32 is summed in double.
#include <algorithm>
#include <type_traits>

#include "exec/cpu/kernels/axis_view.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/kernels/loops.h"
#include "exec/cpu/kernels/number_types.h"
#include "exec/cpu/parallel.h"

namespace arbalest::cpu {

namespace {

constexpr int64_t kColumns = 64;  // summed together

template <class T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, WrappingOf<T>>;

template <class T>
void sum_columns(const T* in, T* out, const AxisView& v, const CumSum& p, int64_t columns) {
  SumOf<T> sums[kColumns] = {};
  for (int64_t i = 0; i < v.size; ++i) {
    const int64_t row = (p.reverse ? v.size - 1 - i : i) * v.inner;
    for (int64_t j = 0; j < columns; ++j) {
      const SumOf<T> before = sums[j];
      sums[j] += static_cast<SumOf<T>>(in[row + j]);
      out[row + j] = static_cast<T>(p.exclusive ? before : sums[j]);
    }
  }
}

template <class T>
BoundKernel bind_cum_sum(const CumSum& p, const AxisView& v, int threads, const KernelArgs& a) {
  return [p, v, threads, in = static_cast<const T*>(a.inputs[0]), out = static_cast<T*>(a.outputs[0])] {
    const int64_t tiles = (v.inner + kColumns - 1) / kColumns;
    parallel_for(threads, v.outer * tiles, [&](int64_t first, int64_t end) {
      for (int64_t unit = first; unit < end; ++unit) {
        const int64_t begin = unit % tiles * kColumns;
        const int64_t at = unit / tiles * v.size * v.inner + begin;
        sum_columns(in + at, out + at, v, p, std::min(kColumns, v.inner - begin));
      }
    });
  };
}

}  // namespace

Prepared prepare(const CumSum& p, PrepareContext& c) {
  if (!c.input_layout(0).is_row_major()) c.require_row_major(0);
  const Dims dims = c.input_type(0).dims();
  const AxisView v(dims, p.axis);
  const int threads = threads_for(c.threads(), element_count(dims));
  c.may_overwrite(0, 0);
  return for_number_type(c.input_type(0).dtype, "running sums", [&](auto tag) -> Prepared {
    using T = decltype(tag);
    return {[=](const KernelArgs& a) { return bind_cum_sum<T>(p, v, threads, a); }, 0, "loops",
            static_cast<double>(element_count(dims))};
  });
}

}  // namespace arbalest::cpu
