// What all primitives share: the argument of infer() and the types that attributes are made of.
#pragma once

#include <span>
#include <vector>

#include "graph/base/error.h"
#include "graph/types.h"

namespace arbalest {

using Types = std::span<const TensorType>;

class Value;
using Values = std::vector<Value>;
class GradientContext;

// A sliding window over the spatial axes (all axes after batch and channels, NC...). All lists have one entry an axis.
struct Window {
  Dims strides;
  Dims dilations;
  Dims pads_begin;
  Dims pads_end;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    v("strides", p.strides), v("dilations", p.dilations), v("pads_begin", p.pads_begin), v("pads_end", p.pads_end);
  }
  int rank() const { return static_cast<int>(strides.size()); }
  friend bool operator==(const Window&, const Window&) = default;
};

// Output size of one axis: floor((input + pads - dilation (kernel - 1) - 1) / stride) + 1, or its ceiling, where a last
// window that would start in the end padding is dropped (as ONNX since opset 22 and PyTorch do).
Dim window_output(const Window& w, int axis, const Dim& input, const Dim& kernel, bool ceil_mode);

}  // namespace arbalest
