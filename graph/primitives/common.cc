#include "graph/primitives/common.h"

#include <algorithm>

namespace arbalest {

Dim window_output(const Window& w, int axis, const Dim& input, const Dim& kernel, bool ceil_mode) {
  const auto i = static_cast<size_t>(axis);
  const int64_t stride = w.strides[i];
  const Dim extent = w.dilations[i] * (kernel - 1) + 1;
  const Dim room = input + w.pads_begin[i] + w.pads_end[i] - extent;  // how far the window can move
  require(!room.is_constant() || room.value() >= 0,
          "spatial axis {}: the window covers {}, the input with its padding has only {}", axis, to_string(extent),
          to_string(room + extent));
  if (!ceil_mode) return floor_div(room, stride) + 1;
  // The ceiling is floor((room + stride - 1) / stride), but the last start may be at most input + pad_begin - 1. The
  // two differ by a constant where the kernel is one, so the lesser is known for a symbolic input too.
  const Dim end = room + (stride - 1);
  const Dim last = input + (w.pads_begin[i] - 1);
  const Dim beyond = end - last;
  if (!beyond.is_constant()) return floor_div(end, stride) + 1;
  return floor_div(beyond.value() > 0 ? last : end, stride) + 1;
}

}  // namespace arbalest
