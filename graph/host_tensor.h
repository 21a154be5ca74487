// A tensor in ordinary memory: dense, row-major, owning its bytes; copies are deep.
//
// Invariant: bytes.size() is the element count of dims times size_of(dtype). The first byte lies on a 64-byte boundary.
// A bool is one byte, 0 or 1. float16 and bfloat16 elements are read as their bits (uint16_t).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "graph/base/error.h"
#include "graph/types.h"

namespace arbalest {

template <class T, size_t alignment>
struct AlignedAllocator {
  using value_type = T;
  template <class U>
  struct rebind {  // NOLINT(readability-identifier-naming): the standard names it
    using other = AlignedAllocator<U, alignment>;
  };
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U, alignment>&) {}  // NOLINT: all of them are the same
  T* allocate(size_t n) { return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{alignment})); }
  void deallocate(T* p, size_t) { ::operator delete (p, std::align_val_t{alignment}); }
  friend bool operator==(AlignedAllocator, AlignedAllocator) { return true; }
};

using AlignedBytes = std::vector<std::byte, AlignedAllocator<std::byte, 64>>;

// Whether an element of the type t may be read as a T.
template <class T>
constexpr bool holds(DataType t) {
  switch (t) {
    case DataType::f32:
      return std::is_same_v<T, float>;
    case DataType::f64:
      return std::is_same_v<T, double>;
    case DataType::i8:
      return std::is_same_v<T, int8_t>;
    case DataType::i16:
      return std::is_same_v<T, int16_t>;
    case DataType::i32:
      return std::is_same_v<T, int32_t>;
    case DataType::i64:
      return std::is_same_v<T, int64_t>;
    case DataType::u8:
      return std::is_same_v<T, uint8_t>;
    case DataType::f16:
    case DataType::bf16:
    case DataType::u16:
      return std::is_same_v<T, uint16_t>;
    case DataType::u32:
      return std::is_same_v<T, uint32_t>;
    case DataType::u64:
      return std::is_same_v<T, uint64_t>;
    case DataType::boolean:
      return std::is_same_v<T, bool>;
  }
  return false;
}

struct HostTensor {
  DataType dtype = DataType::f32;
  Dims dims = {0};
  AlignedBytes bytes;

  HostTensor() = default;                // no elements
  HostTensor(DataType dtype, Dims dims)  // zeros
      : dtype(dtype),
        dims(std::move(dims)),
        bytes(static_cast<size_t>(arbalest::element_count(this->dims)) * size_of(dtype)) {}
  static HostTensor f32(Dims dims, std::span<const float> values);
  static HostTensor i64(Dims dims, std::span<const int64_t> values);

  int64_t element_count() const { return arbalest::element_count(dims); }

  // The elements; internal error when T is not the element type.
  template <class T>
  std::span<const T> as() const {
    ensure(holds<T>(dtype), "a tensor of {} read as another type", name_of(dtype));
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<T> as() {
    ensure(holds<T>(dtype), "a tensor of {} written as another type", name_of(dtype));
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  // The same values in another type. To a shorter float: to nearest, ties to even. Float to integer: towards zero,
  // saturating, NaN to 0. Between integers: modulo 2^n. To bool: not zero.
  HostTensor to(DataType type) const;
  HostTensor to_f32() const { return to(DataType::f32); }

  // Equal type, sizes and bits: NaN equals NaN, -0 differs from 0.
  friend bool operator==(const HostTensor&, const HostTensor&) = default;
};

using TensorPtr = std::shared_ptr<const HostTensor>;

}  // namespace arbalest
