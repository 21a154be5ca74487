// Gather copies rows; GatherBackward adds them up.
//
// Both see data as [outer, size, inner] around the axis, row-major. GatherBackward's threads share the columns, so that
// each element of ddata sums its contributions in the order of the indices whatever the number of threads.
#include <cstring>

#include "exec/cpu/kernels/axis_view.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/kernels/loops.h"
#include "exec/cpu/parallel.h"

namespace arbalest::cpu {

namespace {

struct Rows : AxisView {
  int64_t count;  // indices

  Rows(const Dims& data, int axis, int64_t count) : AxisView(data, axis), count(count) {}
};

template <class Index>
int64_t position(const Index* indices, int64_t k, int64_t size) {
  const int64_t index = indices[k];
  const int64_t wrapped = index < 0 ? index + size : index;
  require(0 <= wrapped && wrapped < size, "index {} at position {}: out of range for an axis of size {}", index, k,
          size);
  return wrapped;
}

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

template <class T, class Index>
BoundKernel bind_gather_backward(const Rows& rows, int threads, const KernelArgs& a) {
  return [rows, threads, dy = static_cast<const T*>(a.inputs[0]), indices = static_cast<const Index*>(a.inputs[1]),
          to = static_cast<T*>(a.outputs[0])] {
    const auto columns = [&](int64_t o, int64_t begin, int64_t end) {
      T* ddata = to + o * rows.size * rows.inner;
      for (int64_t i = 0; i < rows.size; ++i)
        std::fill(ddata + i * rows.inner + begin, ddata + i * rows.inner + end, T{0});
      for (int64_t k = 0; k < rows.count; ++k) {
        const T* from = dy + (o * rows.count + k) * rows.inner;
        T* row = ddata + position(indices, k, rows.size) * rows.inner;
        for (int64_t j = begin; j < end; ++j) row[j] += from[j];
      }
    };
    if (rows.outer >= threads) {
      parallel_for(threads, rows.outer, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) columns(o, 0, rows.inner);
      });
    } else {
      for (int64_t o = 0; o < rows.outer; ++o) {
        parallel_for(threads, rows.inner, [&](int64_t begin, int64_t end) { columns(o, begin, end); });
      }
    }
  };
}

bool is_i32(const PrepareContext& c) {
  ensure(c.input_type(1).dtype == DataType::i32 || c.input_type(1).dtype == DataType::i64, "indices of type {}",
         name_of(c.input_type(1).dtype));
  return c.input_type(1).dtype == DataType::i32;
}

void require_row_major(PrepareContext& c) {
  for (int i = 0; i < c.input_count(); ++i) {
    if (!c.input_layout(i).is_row_major()) c.require_row_major(i);
  }
}

}  // namespace

Prepared prepare(const Gather& p, PrepareContext& c) {
  require_row_major(c);
  const Rows rows(c.input_type(0).dims(), p.axis, element_count(c.input_type(1).dims()));
  const int64_t row_bytes = rows.inner * static_cast<int64_t>(size_of(c.output_type(0).dtype));
  const int threads = threads_for(c.threads(), rows.outer * rows.count * rows.inner);
  const bool i32 = is_i32(c);
  return {[=](const KernelArgs& a) {
            return i32 ? bind_gather<int32_t>(rows, row_bytes, threads, a)
                       : bind_gather<int64_t>(rows, row_bytes, threads, a);
          },
          0, "memcpy", 0};
}

Prepared prepare(const GatherBackward& p, PrepareContext& c) {
  require_row_major(c);
  const Rows rows(c.output_type(0).dims(), p.axis, element_count(c.input_type(1).dims()));
  const int threads = threads_for(c.threads(), rows.outer * std::max(rows.size, rows.count) * rows.inner);
  const bool i32 = is_i32(c);
  return for_float_type(c.output_type(0).dtype, [&](auto tag) -> Prepared {
    using T = decltype(tag);
    return {[=](const KernelArgs& a) {
              return i32 ? bind_gather_backward<T, int32_t>(rows, threads, a)
                         : bind_gather_backward<T, int64_t>(rows, threads, a);
            },
            0, "add rows", static_cast<double>(rows.outer * rows.count * rows.inner)};
  });
}

}  // namespace arbalest::cpu
