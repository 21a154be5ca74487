#include "onnx_import/data_type.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "onnx_import/narrow_type.h"

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
constexpr std::array<std::pair<int32_t, const char*>, 3> kOtherNames = {
    {{8, "string"}, {14, "complex64"}, {15, "complex128"}}};

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

std::optional<DataType> storage_type_of_onnx(int32_t onnx_type) {
  const NarrowType* narrow = narrow_type(onnx_type);
  return narrow ? narrow->storage : data_type_of_onnx(onnx_type);
}

std::string onnx_type_name(int32_t onnx_type) {
  if (const NarrowType* narrow = narrow_type(onnx_type)) return narrow->name;
  if (const auto type = data_type_of_onnx(onnx_type)) return std::string(name_of(*type));
  for (const auto& [number, name] : kOtherNames) {
    if (number == onnx_type) return name;
  }
  return fmt::format("{} (undefined)", onnx_type);
}

}  // namespace arbalest
