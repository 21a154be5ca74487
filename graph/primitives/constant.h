// Constant: a tensor of the model that does not change (also a frozen weight).
// ShapeTensor: a small integer tensor whose elements are expressions of the symbols; bind() turns it into a Constant.
#pragma once

#include "graph/host_tensor.h"
#include "graph/primitives/common.h"

namespace arbalest {

struct Constant {
  static constexpr const char* kName = "Constant";
  TensorPtr value;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("value", p.value);
  }
};

struct ShapeTensor {
  static constexpr const char* kName = "ShapeTensor";
  std::vector<Dim> values;  // row-major
  Shape shape;              // of the tensor itself
  DataType dtype = DataType::i64;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("values", p.values), v("shape", p.shape), v("dtype", p.dtype);
  }
};

std::vector<TensorType> infer(const Constant& p, Types in);
std::vector<TensorType> infer(const ShapeTensor& p, Types in);

}  // namespace arbalest
