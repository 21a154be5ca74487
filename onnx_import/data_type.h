// ONNX's numbers of element types (TensorProto.DataType) against ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "graph/types.h"

namespace arbalest {

int32_t onnx_data_type(DataType t);
std::optional<DataType> data_type_of_onnx(
    int32_t onnx_type);                         // empty for strings, complex, 8-bit floats, 4-bit integers
std::string onnx_type_name(int32_t onnx_type);  // "float32", "string", "float8e5m2", "99 (undefined)"

}  // namespace arbalest
