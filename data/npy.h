// The header of NumPy's .npy format (NEP 1; versions 1.0 to 3.0): a magic string, a version, and a Python dictionary
// with the element type, the memory order and the shape.
//
// Errors (io): not .npy, an element type other than those below, Fortran order.
#pragma once

#include <bit>
#include <cstddef>
#include <span>

#include "graph/types.h"

namespace arbalest {

struct NpyHeader {
  DataType dtype = DataType::f32;  // f4, f8, u1, i1, i2, i4, i8, u2, u4, b1
  std::endian order = std::endian::little;
  Dims dims;
};

constexpr size_t kNpyPreambleBytes = 12;  // enough for npy_header_bytes

// Size of everything before the elements, from the first bytes of the file.
size_t npy_header_bytes(std::span<const std::byte> preamble);
NpyHeader parse_npy_header(std::span<const std::byte> header);

}  // namespace arbalest
