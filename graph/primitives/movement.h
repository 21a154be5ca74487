// Primitives that only move elements, of any type.
//
// Reshape: row-major order kept. Transpose: y's axis i is x's axis permutation[i]. Slice: start + step * i along each
// axis (step may be negative). SliceBackward: dy -> dx, zero where Slice read nothing. Pad: constant value, pads >= 0
// (other modes are Gathers). Concat: along one axis. Expand: broadcasting to a shape.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

struct Reshape {
  static constexpr const char* kName = "Reshape";
  Shape shape;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("shape", p.shape);
  }
};

struct Transpose {
  static constexpr const char* kName = "Transpose";
  std::vector<int> permutation;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("permutation", p.permutation);
  }
};

struct Slice {
  static constexpr const char* kName = "Slice";
  std::vector<Dim> start;  // an entry an axis, already in range
  Shape size;              // of the output
  Dims step;               // not 0

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("start", p.start), v("size", p.size), v("step", p.step);
  }
};

struct SliceBackward {
  static constexpr const char* kName = "SliceBackward";
  std::vector<Dim> start;
  Shape shape;  // of dx
  Dims step;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("start", p.start), v("shape", p.shape), v("step", p.step);
  }
};

struct Pad {
  static constexpr const char* kName = "Pad";
  std::vector<Dim> begin;  // an entry an axis, >= 0
  std::vector<Dim> end;
  double value = 0;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("begin", p.begin), v("end", p.end), v("value", p.value);
  }
};

struct Concat {
  static constexpr const char* kName = "Concat";
  int axis = 0;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("axis", p.axis);
  }
};

struct Expand {
  static constexpr const char* kName = "Expand";
  Shape shape;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("shape", p.shape);
  }
};

std::vector<TensorType> infer(const Reshape& p, Types in);
std::vector<TensorType> infer(const Transpose& p, Types in);
std::vector<TensorType> infer(const Slice& p, Types in);
std::vector<TensorType> infer(const SliceBackward& p, Types in);
std::vector<TensorType> infer(const Pad& p, Types in);
std::vector<TensorType> infer(const Concat& p, Types in);
std::vector<TensorType> infer(const Expand& p, Types in);
Values gradient(const Reshape& p, GradientContext& g);
Values gradient(const Transpose& p, GradientContext& g);
Values gradient(const Slice& p, GradientContext& g);
Values gradient(const SliceBackward& p, GradientContext& g);
Values gradient(const Pad& p, GradientContext& g);
Values gradient(const Concat& p, GradientContext& g);
Values gradient(const Expand& p, GradientContext& g);

}  // namespace arbalest
