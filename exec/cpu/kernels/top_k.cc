// TopK: the indices of a row are partially sorted in scratch memory.
#include <algorithm>
#include <numeric>

#include "exec/cpu/kernels/axis_view.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/kernels/loops.h"
#include "exec/cpu/kernels/number_types.h"
#include "exec/cpu/parallel.h"

namespace arbalest::cpu {

namespace {

// A total order: by value with NaN above all numbers, then by index.
template <bool largest, class T>
bool comes_before(T a, int64_t i, T b, int64_t j) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan != b_nan) return largest ? a_nan : b_nan;
  if (a_nan || a == b) return i < j;
  return largest ? a > b : a < b;
}

template <bool largest, class T>
BoundKernel bind_top_k(const AxisView& v, int64_t k, int threads, const KernelArgs& args) {
  return [v, k, threads, in = static_cast<const T*>(args.inputs[0]), values = static_cast<T*>(args.outputs[0]),
          indices = static_cast<int64_t*>(args.outputs[1]), scratch = static_cast<int64_t*>(args.scratch)] {
    const int64_t rows = v.outer * v.inner;
    // One part of the rows, and one row of scratch, a thread.
    parallel_for(threads, threads, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) {
        int64_t* order = scratch + part * v.size;
        const ElementRange range = part_of({0, rows}, part, threads);
        for (int64_t r = range.begin; r < range.end; ++r) {
          const T* row = in + r / v.inner * v.size * v.inner + r % v.inner;
          std::iota(order, order + v.size, 0);
          std::partial_sort(order, order + k, order + v.size, [&](int64_t i, int64_t j) {
            return comes_before<largest>(row[i * v.inner], i, row[j * v.inner], j);
          });
          const int64_t to = r / v.inner * k * v.inner + r % v.inner;
          for (int64_t n = 0; n < k; ++n) {
            values[to + n * v.inner] = row[order[n] * v.inner];
            indices[to + n * v.inner] = order[n];
          }
        }
      }
    });
  };
}

}  // namespace

Prepared prepare(const TopK& p, PrepareContext& c) {
  if (!c.input_layout(0).is_row_major()) c.require_row_major(0);
  const AxisView v(c.input_type(0).dims(), p.axis);
  const int64_t k = p.k.value();
  require(0 <= k && k <= v.size, "k is {}, axis {} has {} elements", k, p.axis, v.size);
  const int threads = threads_for(c.threads(), v.outer * v.size * v.inner);
  const size_t scratch = static_cast<size_t>(threads * v.size) * sizeof(int64_t);
  return for_number_type(c.input_type(0).dtype, "the greatest elements", [&](auto tag) -> Prepared {
    using T = decltype(tag);
    const auto bind = p.largest ? bind_top_k<true, T> : bind_top_k<false, T>;
    return {[=](const KernelArgs& a) { return bind(v, k, threads, a); }, scratch, "partial sort", 0};
  });
}

}  // namespace arbalest::cpu
