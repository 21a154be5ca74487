// Element types, shapes and tensor types.
//
// A Shape is a list of Dim. In an imported graph a Dim may hold symbols (the batch "N"); once a graph is bound to a
// batch every Dim is a constant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dim.h"

namespace arbalest {

enum class DataType : uint8_t { f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

size_t size_of(DataType t);            // bytes of one element
std::string_view name_of(DataType t);  // "float32", "int64", "bool": the names of NumPy and ONNX
bool is_float(DataType t);
bool is_integer(DataType t);  // bool is not an integer

// Sizes of a tensor whose shape is known.
using Dims = std::vector<int64_t>;

int64_t element_count(const Dims& dims);
Dims row_major_strides(const Dims& dims);  // in elements
std::string to_string(const Dims& dims);   // "2 x 3", "scalar" for rank 0

class Shape : public std::vector<Dim> {
 public:
  using std::vector<Dim>::vector;
  Shape() = default;
  Shape(const Dims& dims) : std::vector<Dim>(dims.begin(), dims.end()) {}  // NOLINT: a known shape is a shape

  int rank() const { return static_cast<int>(size()); }
  // Model error for an axis that the shape does not have: of what a file may hold, every rule would have to ask first.
  Dim& operator[](size_t axis) { return data()[checked(axis)]; }
  const Dim& operator[](size_t axis) const { return data()[checked(axis)]; }
  const Dim& front() const { return (*this)[0]; }
  const Dim& back() const { return (*this)[size() - 1]; }
  Dim& front() { return (*this)[0]; }
  Dim& back() { return (*this)[size() - 1]; }
  bool is_static() const;
  Dims dims() const;  // internal error if a symbol is left
  Dim element_count() const;
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  size_t checked(size_t axis) const {
    if (axis >= size()) refuse(axis);
    return axis;
  }
  [[noreturn]] void refuse(size_t axis) const;
};

std::string to_string(const Shape& shape);  // "N x 3 x 32 x 32", "scalar"

struct TensorType {
  DataType dtype = DataType::f32;
  Shape shape;

  int rank() const { return shape.rank(); }
  Dims dims() const { return shape.dims(); }
  size_t bytes() const { return static_cast<size_t>(arbalest::element_count(dims())) * size_of(dtype); }  // dense
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

std::string to_string(const TensorType& type);  // "float32 N x 10"

// The shape that NumPy broadcasting gives; model error when the two do not fit. Symbols broadcast against 1 and
// themselves.
Shape broadcast(const Shape& a, const Shape& b);
// Axis in [0, rank) of one in [-rank, rank); model error outside.
int normalise_axis(int64_t axis, int rank);

}  // namespace arbalest
