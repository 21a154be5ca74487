// Map: y[i] = expression(x0[i], x1[i], ...), NumPy broadcasting. Gradient: the symbolic derivative, a Map again,
// expressed by the output where that frees the inputs. StopGradient: y = x; nothing flows back.
#pragma once

#include "graph/primitives/common.h"
#include "graph/scalar.h"

namespace arbalest {

struct Map {
  static constexpr const char* kName = "Map";
  Scalar expression;  // over as many inputs as the node has

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("expression", p.expression);
  }
};

struct StopGradient {
  static constexpr const char* kName = "StopGradient";

  template <class Self, class V>
  static void fields(Self&, V&&) {}
};

std::vector<TensorType> infer(const Map& p, Types in);
Values gradient(const Map& p, GradientContext& g);
std::vector<TensorType> infer(const StopGradient& p, Types in);
Values gradient(const StopGradient& p, GradientContext& g);

}  // namespace arbalest
