// What the tests of onnx_import/ share: where their data is, and shorthands for types and tensors.
#pragma once

#include <filesystem>
#include <vector>

#include "graph/host_tensor.h"
#include "graph/types.h"

namespace arbalest {

inline const std::filesystem::path kData = ARBALEST_TEST_DATA;

inline const Dim kN = Dim::symbol("N");

inline TensorType f32(Shape shape) { return {DataType::f32, std::move(shape)}; }
inline HostTensor f32(Dims dims, const std::vector<float>& values) { return HostTensor::f32(std::move(dims), values); }

}  // namespace arbalest
