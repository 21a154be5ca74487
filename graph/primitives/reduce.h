// Reduce: sum, mean, max, min or product over axes. Gradient of max and min: shared evenly among equal values; of the
// product: exact with zeros too. An empty axis gives the neutral element (NaN for mean).
// ArgReduce: int64 index of the maximum or minimum along one axis; of equal values the first, or the last if asked.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

enum class Reduction : uint8_t { sum, mean, max, min, prod };

struct Reduce {
  static constexpr const char* kName = "Reduce";
  Reduction kind = Reduction::sum;
  std::vector<int> axes;  // ascending, in [0, rank)
  bool keep = false;      // reduced axes stay with size 1

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("kind", p.kind), v("axes", p.axes), v("keep", p.keep);
  }
};

struct ArgReduce {
  static constexpr const char* kName = "ArgReduce";
  Reduction kind = Reduction::max;  // max or min
  int axis = 0;
  bool keep = false;
  bool last = false;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("kind", p.kind), v("axis", p.axis), v("keep", p.keep), v("last", p.last);
  }
};

std::vector<TensorType> infer(const Reduce& p, Types in);
std::vector<TensorType> infer(const ArgReduce& p, Types in);
Values gradient(const Reduce& p, GradientContext& g);

}  // namespace arbalest
