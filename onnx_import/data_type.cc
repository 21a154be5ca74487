#include "onnx_import/data_type.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace arbalest {
namespace {

constexpr std::array<std::pair<DataType, int32_t>, 13> kTypes = {{{DataType::f32, 1},
                                                                  {DataType::u8, 2},
                                                                  {DataType::i8, 3},
                                                                  {DataType::u16, 4},
                                                                  {DataType::i16, 5},
                                                                  {DataType::i32, 6},
                                                                  {DataType::i64, 7},
                                                                  {DataType::boolean, 9},
                                                                  {DataType::f16, 10},
                                                                  {DataType::f64, 11},
                                                                  {DataType::u32, 12},
                                                                  {DataType::u64, 13},
                                                                  {DataType::bf16, 16}}};

// Types that Arbalest has no tensors of: they may occur in a model as long as nothing computes with them.
constexpr std::array<std::pair<int32_t, const char*>, 13> kOtherNames = {{{8, "string"},
                                                                          {14, "complex64"},
                                                                          {15, "complex128"},
                                                                          {17, "float8e4m3fn"},
                                                                          {18, "float8e4m3fnuz"},
                                                                          {19, "float8e5m2"},
                                                                          {20, "float8e5m2fnuz"},
                                                                          {21, "uint4"},
                                                                          {22, "int4"},
                                                                          {23, "float4e2m1"},
                                                                          {24, "float8e8m0"},
                                                                          {25, "uint2"},
                                                                          {26, "int2"}}};

}  // namespace

int32_t onnx_data_type(DataType t) {
  for (const auto& [type, number] : kTypes) {
    if (type == t) return number;
  }
  return 0;
}

std::optional<DataType> data_type_of_onnx(int32_t onnx_type) {
  for (const auto& [type, number] : kTypes) {
    if (number == onnx_type) return type;
  }
  return std::nullopt;
}

std::string onnx_type_name(int32_t onnx_type) {
  if (const auto type = data_type_of_onnx(onnx_type)) return std::string(name_of(*type));
  for (const auto& [number, name] : kOtherNames) {
    if (number == onnx_type) return name;
  }
  return fmt::format("{} (undefined)", onnx_type);
}

}  // namespace arbalest
