// Pooling over 1 to 3 spatial axes (ONNX MaxPool, AveragePool; the global pools have kernel = spatial sizes).
//
// MaxPool: x [N, C, ...] -> y, position. position (int32, shape of y) is the place of the maximum inside its window,
// row-major over the kernel; of equal values the first. Padding never wins.
// AveragePool: x -> y; padding counts in the divisor if count_include_pad; the part of a ceil_mode window beyond the
// end padding never does.
#pragma once

#include "graph/primitives/common.h"

namespace arbalest {

struct MaxPool {
  static constexpr const char* kName = "MaxPool";
  Window window;
  Shape kernel;
  bool ceil_mode = false;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    Window::fields(p.window, v), v("kernel", p.kernel), v("ceil_mode", p.ceil_mode);
  }
};

// dy, position -> dx
struct MaxPoolBackward {
  static constexpr const char* kName = "MaxPoolBackward";
  Window window;
  Shape kernel;
  bool ceil_mode = false;
  Shape spatial;  // of dx

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    Window::fields(p.window, v), v("kernel", p.kernel), v("ceil_mode", p.ceil_mode), v("spatial", p.spatial);
  }
};

struct AveragePool {
  static constexpr const char* kName = "AveragePool";
  Window window;
  Shape kernel;
  bool ceil_mode = false;
  bool count_include_pad = false;

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    Window::fields(p.window, v), v("kernel", p.kernel), v("ceil_mode", p.ceil_mode),
        v("count_include_pad", p.count_include_pad);
  }
};

// dy -> dx
struct AveragePoolBackward {
  static constexpr const char* kName = "AveragePoolBackward";
  Window window;
  Shape kernel;
  bool ceil_mode = false;
  bool count_include_pad = false;
  Shape spatial;  // of dx

  template <class Self, class V>
  static void fields(Self& p, V&& v) {
    Window::fields(p.window, v), v("kernel", p.kernel), v("ceil_mode", p.ceil_mode),
        v("count_include_pad", p.count_include_pad), v("spatial", p.spatial);
  }
};

std::vector<TensorType> infer(const MaxPool& p, Types in);
std::vector<TensorType> infer(const MaxPoolBackward& p, Types in);
std::vector<TensorType> infer(const AveragePool& p, Types in);
std::vector<TensorType> infer(const AveragePoolBackward& p, Types in);
Values gradient(const MaxPool& p, GradientContext& g);
Values gradient(const AveragePool& p, GradientContext& g);
Values gradient(const AveragePoolBackward& p, GradientContext& g);

}  // namespace arbalest
