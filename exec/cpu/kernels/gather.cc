// Gather copies rows: data is seen as [outer, size, inner] around the axis, row-major.
#include <cstring>

#include "exec/cpu/kernels/index.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/kernels/loops.h"
#include "exec/cpu/parallel.h"

namespace arbalest::cpu {

namespace {

template <class Index>
BoundKernel bind_gather(const Rows& rows, int64_t row_bytes, int threads, const KernelArgs& a) {
  return [rows, row_bytes, threads, data = static_cast<const std::byte*>(a.inputs[0]),
          indices = static_cast<const Index*>(a.inputs[1]), to = static_cast<std::byte*>(a.outputs[0])] {
    parallel_for(threads, rows.outer * rows.count, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t source = r / rows.count * rows.size + position(indices, r % rows.count, rows.size);
        std::memcpy(to + r * row_bytes, data + source * row_bytes, static_cast<size_t>(row_bytes));
      }
    });
  };
}

template <class Index>
BoundKernel bind_linear_index(const Dims& dims, int64_t count, int threads, const KernelArgs& a) {
  return
      [dims, count, threads, in = static_cast<const Index*>(a.inputs[0]), out = static_cast<int64_t*>(a.outputs[0])] {
        parallel_for(threads, count, [&](int64_t begin, int64_t end) {
          const auto rank = std::ssize(dims);
          for (int64_t k = begin; k < end; ++k) {
            int64_t linear = 0;
            for (int64_t i = 0; i < rank; ++i) {
              const int64_t size = dims[static_cast<size_t>(i)], index = in[k * rank + i];
              const int64_t wrapped = index < 0 ? index + size : index;
              require(0 <= wrapped && wrapped < size,
                      "index {} (coordinate {} of {}) at position {}: out of range for an axis of size {}", index, i,
                      rank, k, size);
              linear = linear * size + wrapped;
            }
            out[k] = linear;
          }
        });
      };
}

}  // namespace

Prepared prepare(const Gather& p, PrepareContext& c) {
  require_all_row_major(c);
  const Rows rows(c.input_type(0).dims(), p.axis, element_count(c.input_type(1).dims()));
  const int64_t row_bytes = rows.inner * static_cast<int64_t>(size_of(c.output_type(0).dtype));
  const int threads = threads_for(c.threads(), rows.outer * rows.count * rows.inner);
  return for_index_type(c.input_type(1).dtype, [&](auto tag) -> Prepared {
    using Index = decltype(tag);
    return {[=](const KernelArgs& a) { return bind_gather<Index>(rows, row_bytes, threads, a); }, 0, "memcpy", 0};
  });
}

Prepared prepare(const LinearIndex& p, PrepareContext& c) {
  require_all_row_major(c);
  const Dims dims = p.dims.dims();
  require(c.input_type(0).dims().back() == std::ssize(dims), "{} coordinates of an element of {}",
          c.input_type(0).dims().back(), to_string(dims));
  const int64_t count = element_count(c.output_type(0).dims());
  const int threads = threads_for(c.threads(), count);
  return for_index_type(c.input_type(0).dtype, [&](auto tag) -> Prepared {
    using Index = decltype(tag);
    return {[=](const KernelArgs& a) { return bind_linear_index<Index>(dims, count, threads, a); }, 0, "loops", 0};
  });
}

}  // namespace arbalest::cpu
