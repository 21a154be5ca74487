// ONNX's numbers of element types (TensorProto.DataType) against ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "graph/types.h"

namespace arbalest {

int32_t onnx_data_type(DataType t);
// Empty for strings, complex and the narrow types.
std::optional<DataType> data_type_of_onnx(int32_t onnx_type);
// The type of a tensor as it is read: narrow types (narrow_type.h) in their storage type.
std::optional<DataType> storage_type_of_onnx(int32_t onnx_type);
std::string onnx_type_name(int32_t onnx_type);  // "float32", "string", "float8e5m2", "99 (undefined)"

}  // namespace arbalest
