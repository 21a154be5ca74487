// Operators that put patches of an image together or cut its middle out: Col2Im, CenterCropPad.
#include <numeric>

#include "graph/base/error.h"
#include "onnx_import/op_context.h"
#include "onnx_import/pixels.h"

namespace arbalest {
namespace {

constexpr size_t kMaxAxes = 3;          // of a convolution
constexpr int64_t kMaxPatch = 1 << 10;  // elements; the weight has their square

// Weight c of a channel has a single 1, at element c of the patch.
Value patch_weights(OpContext& op, const Dims& kernel, int64_t channels, DataType type) {
  const int64_t patch = element_count(kernel);
  require(patch > 0 && patch <= kMaxPatch, "patches of {}, expected 1 to {} elements", to_string(kernel), kMaxPatch);
  HostTensor one(DataType::f64, {patch, patch});
  for (int64_t c = 0; c < patch; ++c) one.as<double>()[static_cast<size_t>(c * patch + c)] = 1;
  const Value w = op.builder().constant(std::make_shared<const HostTensor>(one.to(type)));
  Shape shape{channels * patch, 1};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  return reshape(expand(reshape(w, {1, patch, patch}), {channels, patch, patch}), shape);
}

// Col2Im-18: the backward pass of a convolution that reads each element of a patch into a channel of its own
Values col2im(OpContext& op) {
  const Value x = op.input(0);
  const Dims image = op.constant_integers(1), kernel = op.constant_integers(2);
  const size_t axes = image.size();
  require(x.rank() == 3 && kernel.size() == axes && axes > 0, "input {}, image {} and patch {} do not fit",
          to_string(x.shape()), to_string(image), to_string(kernel));
  if (axes > kMaxAxes) throw Error(ErrorKind::unsupported, "an image of {} axes", axes);
  const Dims ones(axes, 1), pads = op.attribute("pads", Dims(2 * axes, 0));
  Window w;
  w.strides = op.attribute("strides", ones);
  w.dilations = op.attribute("dilations", ones);
  require(w.strides.size() == axes && w.dilations.size() == axes && pads.size() == 2 * axes,
          "{} strides, {} dilations and {} pads for {} axes", w.strides.size(), w.dilations.size(), pads.size(), axes);
  w.pads_begin.assign(pads.begin(), pads.begin() + static_cast<int64_t>(axes));
  w.pads_end.assign(pads.begin() + static_cast<int64_t>(axes), pads.end());
  const int64_t patch = element_count(kernel);
  const int64_t rows = known_size(x.shape()[1], "the axis of patches");
  require(patch > 0 && rows % patch == 0, "{} rows for patches of {}", rows, to_string(kernel));
  Shape blocks{x.shape()[0], rows};
  for (size_t i = 0; i < axes; ++i) {
    require(w.strides[i] > 0, "a stride of {}", w.strides[i]);
    const int64_t reach = image[i] + w.pads_begin[i] + w.pads_end[i] - w.dilations[i] * (kernel[i] - 1) - 1;
    require(reach >= 0, "axis {}: a patch of {} in an image of {}", i, kernel[i], image[i]);
    blocks.emplace_back(reach / w.strides[i] + 1);
  }
  const int64_t channels = rows / patch;
  const Value weights = patch_weights(op, kernel, channels, x.dtype());
  return op.builder().emit(ConvBackwardData{w, channels, Shape(image)}, {reshape(x, blocks), weights});
}

// CenterCropPad-18: an odd element is cut off or added at the end
Values center_crop_pad(OpContext& op) {
  Value x = op.input(0);
  const std::vector<Dim> wanted = op.contents(1);
  Dims axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = op.attribute("axes", axes);
  require(axes.size() == wanted.size(), "{} sizes for {} axes", wanted.size(), axes.size());
  for (size_t k = 0; k < axes.size(); ++k) {
    const int axis = normalise_axis(axes[k], x.rank());
    const auto i = static_cast<size_t>(axis);
    if (wanted[k] == x.shape()[i]) continue;
    const int64_t size = known_size(x.shape()[i], "an axis of the input"), to = known_size(wanted[k], "an axis");
    require(to >= 0, "a size of {}", to);
    if (to < size) {
      x = slice(x, axis, (size - to) / 2, to);
    } else {
      const std::vector<Dim> none(x.shape().size(), Dim(0));
      Pad p{none, none, 0};
      p.begin[i] = (to - size) / 2;
      p.end[i] = to - size - p.begin[i];
      x = op.builder().emit_one(std::move(p), {x});
    }
  }
  return {x};
}

}  // namespace

void register_patches(Translator& t);
void register_patches(Translator& t) {
  t.add("Col2Im", {18}, col2im);
  t.add("CenterCropPad", {18}, center_crop_pad);
}

}  // namespace arbalest
