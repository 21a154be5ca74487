// Shorthands with which the tests of graph/ write down graphs.
#pragma once

#include <initializer_list>
#include <string>

#include "graph/builder.h"

namespace arbalest {

inline const Dim N = Dim::symbol("N");
inline const Dim H = Dim::symbol("H");

inline TensorType f32(Shape shape) { return {DataType::f32, std::move(shape)}; }
inline TensorType f64(Shape shape) { return {DataType::f64, std::move(shape)}; }
inline TensorType i64(Shape shape) { return {DataType::i64, std::move(shape)}; }

inline Value data(Builder& b, const std::string& name, TensorType type) {
  return b.add_input(name, InputRole::data, std::move(type));
}
inline Value parameter(Builder& b, const std::string& name, TensorType type) {
  return b.add_input(name, InputRole::parameter, std::move(type));
}

inline Window window(int rank, int64_t stride = 1, int64_t pad = 0, int64_t dilation = 1) {
  const auto n = static_cast<size_t>(rank);
  return {Dims(n, stride), Dims(n, dilation), Dims(n, pad), Dims(n, pad)};
}

inline TensorPtr tensor_f32(Dims dims, std::initializer_list<float> values) {
  return std::make_shared<const HostTensor>(HostTensor::f32(std::move(dims), std::vector<float>(values)));
}

}  // namespace arbalest
