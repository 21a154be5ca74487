// Element types of less than 16 bits: 8-bit and 4-bit floats, 4-bit and 2-bit integers.
//
// Arbalest reads them and rounds to them, but computes and stores wider: a float8 or float4 is a float32 that holds one
// of the narrow type's values, an int4 or int2 an int8, their unsigned forms a uint8. Nothing of them trains.
//
// Source: onnx.proto (packing: the first element in the lowest bits) and ONNX "Float stored in 8 bits", "4 bit floats".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "graph/host_tensor.h"
#include "graph/scalar.h"

namespace arbalest {

struct NarrowType {
  int32_t onnx_type;
  const char* name;
  int bits;
  DataType storage;  // float32, int8 or uint8
  // Of floats:
  int fraction_bits = 0;
  int bias = 0;
  double max = 0;
  enum class Beyond : uint8_t { nan, infinity, max } beyond = Beyond::max;  // what overflows where nothing saturates
};

// Null: a type of 16 bits or more, or one without numbers.
const NarrowType* narrow_type(int32_t onnx_type);

uint64_t packed_bytes(const NarrowType& type, int64_t count);
// Elements of the storage type from packed_bytes() bytes.
HostTensor unpack(const NarrowType& type, Dims dims, std::span<const std::byte> packed);

// What Cast does: nearest, ties to even; integers modulo 2^bits. Beyond the largest value: that value if `saturate`,
// else NaN or infinity. float8e8m0 (powers of two) rounds as `round_mode` says: "up", "down" or "nearest".
Scalar round_to(const NarrowType& type, const Scalar& x, bool saturate, const std::string& round_mode);

}  // namespace arbalest
