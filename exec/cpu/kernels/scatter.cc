// Scatter: a copy of the data, or zeros, then rows written one index after the other.
//
// Data are seen as [outer, size, inner] around the axis, row-major. Threads share the outer slices or else the columns,
// so that each element takes its updates in the order of the indices whatever the number of threads.
#include <algorithm>
#include <cstring>

#include "exec/cpu/kernels/index.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/kernels/loops.h"
#include "exec/cpu/kernels/number_types.h"
#include "exec/cpu/parallel.h"

namespace arbalest::cpu {

namespace {

template <ScatterReduction kind, class T>
void update_row(T* row, const T* from, int64_t n) {
  if constexpr (kind == ScatterReduction::set) {
    std::copy(from, from + n, row);
  } else {
    using Wide = WrappingOf<T>;
    for (int64_t j = 0; j < n; ++j) {
      if constexpr (kind == ScatterReduction::add)
        row[j] = static_cast<T>(static_cast<Wide>(row[j]) + static_cast<Wide>(from[j]));
      if constexpr (kind == ScatterReduction::mul)
        row[j] = static_cast<T>(static_cast<Wide>(row[j]) * static_cast<Wide>(from[j]));
      // A NaN stays, from either side.
      if constexpr (kind == ScatterReduction::max) row[j] = row[j] < from[j] || from[j] != from[j] ? from[j] : row[j];
      if constexpr (kind == ScatterReduction::min) row[j] = from[j] < row[j] || from[j] != from[j] ? from[j] : row[j];
    }
  }
}

template <ScatterReduction kind, class T, class Index>
BoundKernel bind_scatter(const Rows& rows, bool onto_zeros, int threads, const KernelArgs& a) {
  const T* data = onto_zeros ? nullptr : static_cast<const T*>(a.inputs[0]);
  return [rows, threads, data, indices = static_cast<const Index*>(a.inputs[onto_zeros ? 0 : 1]),
          updates = static_cast<const T*>(a.inputs[onto_zeros ? 1 : 2]), to = static_cast<T*>(a.outputs[0])] {
    const auto start = [&](int64_t begin, int64_t n) {
      if (!data) {
        std::fill_n(to + begin, n, T{0});
      } else if (data != to) {
        std::copy_n(data + begin, n, to + begin);
      }
    };
    const auto columns = [&](int64_t o, int64_t begin, int64_t end) {
      const int64_t slice = o * rows.size * rows.inner;
      if (begin == 0 && end == rows.inner) {
        start(slice, rows.size * rows.inner);
      } else {
        for (int64_t i = 0; i < rows.size; ++i) start(slice + i * rows.inner + begin, end - begin);
      }
      for (int64_t k = 0; k < rows.count; ++k) {
        const int64_t row = slice + position(indices, k, rows.size) * rows.inner;
        update_row<kind>(to + row + begin, updates + (o * rows.count + k) * rows.inner + begin, end - begin);
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

template <class T>
Prepared prepare_for(ScatterReduction kind, const Rows& rows, bool onto_zeros, DataType index_type, int threads) {
  const auto flops = static_cast<double>(rows.outer * rows.count * rows.inner);
  return for_index_type(index_type, [&](auto index) -> Prepared {
    using Index = decltype(index);
    const auto with = [&](auto bind, const char* name) {
      return Prepared{[=](const KernelArgs& a) { return bind(rows, onto_zeros, threads, a); }, 0, name, flops};
    };
    switch (kind) {
      case ScatterReduction::set:
        return with(bind_scatter<ScatterReduction::set, T, Index>, "set rows");
      case ScatterReduction::add:
        return with(bind_scatter<ScatterReduction::add, T, Index>, "add rows");
      case ScatterReduction::mul:
        return with(bind_scatter<ScatterReduction::mul, T, Index>, "multiply rows");
      case ScatterReduction::max:
        return with(bind_scatter<ScatterReduction::max, T, Index>, "max rows");
      case ScatterReduction::min:
        return with(bind_scatter<ScatterReduction::min, T, Index>, "min rows");
    }
    throw Error(ErrorKind::internal, "unknown reduction of Scatter");
  });
}

ScatterReduction for_bool(ScatterReduction kind) {
  if (kind == ScatterReduction::add) return ScatterReduction::max;
  if (kind == ScatterReduction::mul) return ScatterReduction::min;
  return kind;
}

}  // namespace

Prepared prepare(const Scatter& p, PrepareContext& c) {
  require_all_row_major(c);
  const TensorType& indices = c.input_type(p.onto_zeros ? 0 : 1);
  const DataType type = c.output_type(0).dtype;
  const Rows rows(c.output_type(0).dims(), p.axis, element_count(indices.dims()));
  const int threads = threads_for(c.threads(), rows.outer * std::max(rows.size, rows.count) * rows.inner);
  if (!p.onto_zeros) c.may_overwrite(0, 0);
  // Setting only moves: a 16-bit float is as good as a uint16.
  const bool half = type == DataType::f16 || type == DataType::bf16;
  const DataType moved = half && p.kind == ScatterReduction::set ? DataType::u16 : type;
  const ScatterReduction kind = type == DataType::boolean ? for_bool(p.kind) : p.kind;
  return for_number_type(moved, "updates", [&](auto tag) {
    return prepare_for<decltype(tag)>(kind, rows, p.onto_zeros, indices.dtype, threads);
  });
}

}  // namespace arbalest::cpu
