// Convolution (cross-correlation) over 1 to 3 spatial axes, groups, dilations, asymmetric pads (ONNX Conv).
//
// Conv: x [N, C, ...], w [M, C/groups, k...], bias [M] -> y [N, M, ...].
// ConvBackwardData: dy [N, M, ...], w [M, C/groups, k...] -> dx [N, C, ...]; also the forward of ConvTranspose.
// ConvBackwardWeights: x, dy -> dw, and dbias [M] if `bias`.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

struct Conv {
  static constexpr const char* kName = "Conv";
  Window window;
  int64_t groups = 1;
  bool bias = false;  // a third input

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    Window::fields(p.window, v), v("groups", p.groups), v("bias", p.bias);
  }
};

struct ConvBackwardData {
  static constexpr const char* kName = "ConvBackwardData";
  Window window;
  int64_t groups = 1;
  Shape spatial;  // spatial sizes of dx (several fit when strides do not divide)

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    Window::fields(p.window, v), v("groups", p.groups), v("spatial", p.spatial);
  }
};

struct ConvBackwardWeights {
  static constexpr const char* kName = "ConvBackwardWeights";
  Window window;
  int64_t groups = 1;
  Dims kernel;        // spatial sizes of w
  bool bias = false;  // a second output

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    Window::fields(p.window, v), v("groups", p.groups), v("kernel", p.kernel), v("bias", p.bias);
  }
};

std::vector<TensorType> infer(const Conv& p, Types in);
std::vector<TensorType> infer(const ConvBackwardData& p, Types in);
std::vector<TensorType> infer(const ConvBackwardWeights& p, Types in);
Values gradient(const Conv& p, GradientContext& g);
Values gradient(const ConvBackwardData& p, GradientContext& g);
Values gradient(const ConvBackwardWeights& p, GradientContext& g);

}  // namespace arbalest
