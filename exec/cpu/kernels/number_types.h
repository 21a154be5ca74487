// One function for every type that kernels compute with.
#pragma once

#include <cstdint>
#include <type_traits>

#include "graph/base/error.h"
#include "graph/types.h"

namespace arbalest::cpu {

// What sums and products of a type are computed in: integers wrap around, which only unsigned ones may.
template <class T>
using WrappingOf = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;

// Calls f with an element of the type as a tag; bool is stored as uint8 0 or 1. `what` names the result in the error
// for the 16-bit floats: "running sums".
template <class F>
auto for_number_type(DataType type, const char* what, F&& f) {
  switch (type) {
    case DataType::f32:
      return f(float{});
    case DataType::f64:
      return f(double{});
    case DataType::i8:
      return f(int8_t{});
    case DataType::i16:
      return f(int16_t{});
    case DataType::i32:
      return f(int32_t{});
    case DataType::i64:
      return f(int64_t{});
    case DataType::boolean:
    case DataType::u8:
      return f(uint8_t{});
    case DataType::u16:
      return f(uint16_t{});
    case DataType::u32:
      return f(uint32_t{});
    case DataType::u64:
      return f(uint64_t{});
    case DataType::f16:
    case DataType::bf16:
      break;
  }
  throw Error(ErrorKind::unsupported, "{} of {}: convert it to float32 first", what, name_of(type));
}

}  // namespace arbalest::cpu
