// Conv and ConvTranspose, 1 to 3 spatial axes.
#include <algorithm>

#include "graph/base/error.h"
#include "onnx_import/window.h"

namespace arbalest {
namespace {

Dims kernel_of(OpContext& op, const Value& x, const Value& w) {
  require(w.rank() == x.rank(), "the weight has rank {} ({}), the input rank {} ({})", w.rank(), to_string(w.shape()),
          x.rank(), to_string(x.shape()));
  const Shape kernel = spatial_sizes(w);
  if (!kernel.is_static()) throw Error(ErrorKind::unsupported, "the kernel has the open size {}", to_string(kernel));
  return kernel_shape(op, x.rank() - 2, kernel.dims());
}

// Conv-1, 11, 22
Values conv(OpContext& op) {
  const Value x = op.input(0), w = op.input(1), bias = op.optional_input(2);
  const Shape spatial = spatial_sizes(x);
  const Window window = window_of(op, spatial, kernel_of(op, x, w));
  const int64_t groups = op.attribute("group", 1);
  if (!bias) return op.builder().emit(Conv{window, groups, false}, {x, w});
  return op.builder().emit(Conv{window, groups, true}, {x, w, bias});
}

// The output of ConvTranspose before it is cropped: pads of the convolution whose backward pass it is.
struct Transposed {
  Window window;
  Dims output_padding;
  Shape spatial;  // of the output
};

// output_shape fixes the total pads; auto_pad says on which side the odd one goes. Pads may come out negative.
void fit_to_output_shape(Transposed& t, const std::string& auto_pad, const Shape& input, const Dims& extent,
                         const Dims& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Dim full = (input[i] - 1) * t.window.strides[i] + extent[i] + t.output_padding[i];
    const Dim total = full - wanted[i];
    if (!total.is_constant()) {
      throw Error(ErrorKind::unsupported, "a fixed output of an axis of the open size {}", to_string(input[i]));
    }
    const int64_t less = floor_div(total, 2).value();
    t.window.pads_begin[i] = auto_pad == "SAME_UPPER" ? less : total.value() - less;
    t.window.pads_end[i] = total.value() - t.window.pads_begin[i];
  }
}

Transposed transposed_of(OpContext& op, const Shape& input, const Dims& kernel) {
  const size_t rank = kernel.size();
  Transposed t;
  t.window = window_of(op, Shape(rank, Dim(1)), kernel);
  t.output_padding = op.attribute("output_padding", Dims(rank, 0));
  Dims wanted = op.attribute("output_shape", Dims{});
  require(t.output_padding.size() == rank, "attribute 'output_padding' has {} values, expected {}",
          t.output_padding.size(), rank);
  require(wanted.empty() || wanted.size() >= rank, "attribute 'output_shape' has {} values, expected {}", wanted.size(),
          rank);
  const std::string auto_pad = op.attribute("auto_pad", "NOTSET");
  Dims extent;
  for (size_t i = 0; i < rank; ++i) extent.push_back((kernel[i] - 1) * t.window.dilations[i] + 1);
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!wanted.empty()) {
    wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(rank));
    fit_to_output_shape(t, auto_pad, input, extent, wanted);
  }
  for (size_t i = 0; i < rank && same && wanted.empty(); ++i) {  // the output is input * stride
    const int64_t total = extent[i] + t.output_padding[i] - t.window.strides[i];
    const int64_t less = total >= 0 ? total / 2 : -((1 - total) / 2);
    t.window.pads_begin[i] = auto_pad == "SAME_UPPER" ? less : total - less;
    t.window.pads_end[i] = total - t.window.pads_begin[i];
  }
  for (size_t i = 0; i < rank; ++i) {
    t.spatial.push_back((input[i] - 1) * t.window.strides[i] + extent[i] + t.output_padding[i] -
                        t.window.pads_begin[i] - t.window.pads_end[i]);
  }
  return t;
}

// Whether the output is the data gradient of a convolution with these pads.
bool is_data_gradient(const Transposed& t) {
  for (size_t i = 0; i < t.output_padding.size(); ++i) {
    if (t.window.pads_begin[i] < 0 || t.window.pads_end[i] < 0) return false;
    if (t.output_padding[i] < 0 || t.output_padding[i] >= t.window.strides[i]) return false;
  }
  return true;
}

// Without pads first, then cropped, or padded where pads are negative.
Value crop(const Value& full, const Transposed& t) {
  Value y = full;
  Pad pad{std::vector<Dim>(static_cast<size_t>(y.rank()), Dim(0)),
          std::vector<Dim>(static_cast<size_t>(y.rank()), Dim(0)), 0};
  bool padded = false;
  for (size_t i = 0; i < t.output_padding.size(); ++i) {
    const int64_t begin = t.window.pads_begin[i];
    const int64_t end = t.window.pads_end[i] - t.output_padding[i];
    const Dim& size = y.shape()[i + 2];
    y = slice(y, static_cast<int>(i) + 2, std::max<int64_t>(begin, 0),
              size - std::max<int64_t>(begin, 0) - std::max<int64_t>(end, 0));
    pad.begin[i + 2] = std::max<int64_t>(-begin, 0);
    pad.end[i + 2] = std::max<int64_t>(-end, 0);
    padded = padded || begin < 0 || end < 0;
  }
  return padded ? y.builder().emit_one(pad, {y}) : y;
}

// ConvTranspose-1, 11, 22
Values conv_transpose(OpContext& op) {
  const Value x = op.input(0), w = op.input(1), bias = op.optional_input(2);
  const Shape input = spatial_sizes(x);
  Transposed t = transposed_of(op, input, kernel_of(op, x, w));
  const int64_t groups = op.attribute("group", 1);
  Value y;
  if (is_data_gradient(t)) {
    y = op.builder().emit_one(ConvBackwardData{t.window, groups, t.spatial}, {x, w});
  } else {
    Window window = t.window;
    Shape full = t.spatial;
    for (size_t i = 0; i < full.size(); ++i) {
      full[i] = full[i] + window.pads_begin[i] + window.pads_end[i] - t.output_padding[i];
      window.pads_begin[i] = window.pads_end[i] = 0;
    }
    y = crop(op.builder().emit_one(ConvBackwardData{window, groups, full}, {x, w}), t);
  }
  if (!bias) return {y};
  require(bias.rank() == 1 && bias.shape()[0] == y.shape()[1], "the bias has shape {}, expected {}",
          to_string(bias.shape()), to_string(y.shape()[1]));
  Shape per_channel(static_cast<size_t>(y.rank()) - 1, Dim(1));
  per_channel[0] = bias.shape()[0];
  return {y + reshape(bias, per_channel)};
}

}  // namespace

void register_conv(Translator& t);
void register_conv(Translator& t) {
  t.add("Conv", {1, 11, 22}, conv);
  t.add("ConvTranspose", {1, 11, 22}, conv_transpose);
}

}  // namespace arbalest
