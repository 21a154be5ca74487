#include "exec/cpu/kernels/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "exec/cpu/parallel.h"

namespace arbalest::cpu {

namespace {

constexpr int64_t kTileSide = 16;  // a cache line of float on both sides

template <size_t bytes>
void copy_strided(const std::byte* from, std::byte* to, int64_t from_stride, int64_t to_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, bytes);
}

// Through a buffer, so that each cache line of either side is used up at once: with strides that are powers of two the
// lines of a tile evict each other.
template <size_t bytes>
void copy_tile(const std::byte* from, std::byte* to, const Loop<2>& row, const Loop<2>& inner, int64_t rows,
               int64_t columns) {
  constexpr auto kUnit = static_cast<int64_t>(bytes);
  std::byte tile[kTileSide * kTileSide * kUnit];
  for (int64_t c = 0; c < columns; ++c) {
    const std::byte* line = from + c * inner.strides[0];
    if (rows == kTileSide) {
      std::memcpy(tile + c * kTileSide * kUnit, line, kTileSide * kUnit);
    } else {
      std::memcpy(tile + c * kTileSide * kUnit, line, static_cast<size_t>(rows * kUnit));
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    copy_strided<bytes>(tile + r * kUnit, to + r * row.strides[1], kTileSide * kUnit, inner.strides[1], columns);
  }
}

// Calls f with the unit as a constant.
template <class F>
void with_unit(size_t unit, F&& f) {
  switch (unit) {
    case 1:
      return f(std::integral_constant<size_t, 1>{});
    case 2:
      return f(std::integral_constant<size_t, 2>{});
    case 4:
      return f(std::integral_constant<size_t, 4>{});
    default:
      return f(std::integral_constant<size_t, 8>{});
  }
}

}  // namespace

StridedCopy::StridedCopy(size_t element_size, Loops<2> loops, int64_t from_offset, int64_t to_offset)
    : unit_(element_size),
      count_(iterations(loops)),
      from_offset_(from_offset * static_cast<int64_t>(element_size)),
      to_offset_(to_offset * static_cast<int64_t>(element_size)) {
  const auto unit = static_cast<int64_t>(element_size);
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Loop<2>& a, const Loop<2>& b) { return std::abs(a.strides[1]) > std::abs(b.strides[1]); });
  for (Loop<2>& l : loops) l.strides = {l.strides[0] * unit, l.strides[1] * unit};
  coalesce(loops);
  inner_ = {1, {unit, unit}};
  if (!loops.empty()) {
    inner_ = loops.back();
    loops.pop_back();
  }
  const auto contiguous = std::find_if(loops.begin(), loops.end(), [&](auto& l) { return l.strides[0] == unit; });
  if (inner_.strides[0] == unit && inner_.strides[1] == unit) {
    const int64_t bytes = inner_.size * unit;
    // A short run is one wide element.
    if (!loops.empty() && (bytes == 2 || bytes == 4 || bytes == 8)) {
      unit_ = static_cast<size_t>(bytes);
      inner_ = loops.back();
      loops.pop_back();
      form_ = Form::strided;
    }
  } else if (inner_.strides[0] != 0 && contiguous != loops.end()) {
    row_ = *contiguous;
    loops.erase(contiguous);
    form_ = Form::transpose;
  } else {
    form_ = Form::strided;
  }
  outer_ = std::move(loops);
}

void StridedCopy::run_inner(const std::byte* from, std::byte* to, int64_t begin, int64_t end) const {
  const auto at = [](const Loop<2>& l, size_t operand, int64_t i) { return l.strides[operand] * i; };
  switch (form_) {
    case Form::run:
      std::memcpy(to + at(inner_, 1, begin), from + at(inner_, 0, begin), static_cast<size_t>(end - begin) * unit_);
      return;
    case Form::strided:
      with_unit(unit_, [&](auto unit) {
        copy_strided<unit()>(from + at(inner_, 0, begin), to + at(inner_, 1, begin), inner_.strides[0],
                             inner_.strides[1], end - begin);
      });
      return;
    case Form::transpose:
      with_unit(unit_, [&](auto unit) {
        for (int64_t c = begin; c < end; c += kTileSide) {
          for (int64_t r = 0; r < row_.size; r += kTileSide) {
            copy_tile<unit()>(from + at(row_, 0, r) + at(inner_, 0, c), to + at(row_, 1, r) + at(inner_, 1, c), row_,
                              inner_, std::min(kTileSide, row_.size - r), std::min(kTileSide, end - c));
          }
        }
      });
      return;
  }
}

void StridedCopy::run(const void* from, void* to, int threads) const {
  if (count_ == 0) return;
  const std::byte* source = static_cast<const std::byte*>(from) + from_offset_;
  std::byte* target = static_cast<std::byte*>(to) + to_offset_;
  threads = threads_for(threads, count_);
  const int64_t outer = iterations(outer_);
  const bool split_inner = outer < 4 * threads;
  const auto walk = [&](int64_t begin, int64_t end) {
    Odometer<2> o(outer_, begin);
    for (int64_t i = begin; i < end; ++i, o.advance()) {
      const std::byte* row_from = source + o.offset(0);
      std::byte* row_to = target + o.offset(1);
      if (split_inner) {
        parallel_for(threads, inner_.size, [&](int64_t b, int64_t e) { run_inner(row_from, row_to, b, e); });
      } else {
        run_inner(row_from, row_to, 0, inner_.size);
      }
    }
  };
  if (split_inner) {
    walk(0, outer);
  } else {
    parallel_for(threads, outer, walk);
  }
}

const char* StridedCopy::name() const {
  return form_ == Form::run ? "memcpy" : form_ == Form::transpose ? "transpose" : "strided";
}

void fill(void* to, int64_t elements, const void* element, size_t element_size, int threads) {
  const auto* first = static_cast<const std::byte*>(element);
  const bool one_byte = std::all_of(first, first + element_size, [&](std::byte b) { return b == *first; });
  parallel_for(threads_for(threads, elements), elements, [&](int64_t begin, int64_t end) {
    std::byte* target = static_cast<std::byte*>(to) + begin * static_cast<int64_t>(element_size);
    const int64_t n = end - begin;
    if (one_byte) {
      std::memset(target, std::to_integer<int>(*first), static_cast<size_t>(n) * element_size);
      return;
    }
    with_unit(element_size,
              [&](auto unit) { copy_strided<unit()>(first, target, 0, static_cast<int64_t>(unit()), n); });
  });
}

}  // namespace arbalest::cpu
