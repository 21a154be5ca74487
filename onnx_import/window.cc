#include "onnx_import/window.h"

#include <algorithm>

#include "graph/base/error.h"

namespace arbalest {
namespace {

Dims list_attribute(OpContext& op, const std::string& name, size_t count, int64_t otherwise) {
  Dims list = op.attribute(name, Dims(count, otherwise));
  require(list.size() == count, "attribute '{}' has {} values, expected {}", name, list.size(), count);
  return list;
}

// Pads so that the output has ceil(size / stride) elements; the odd one at the end (upper) or at the beginning.
void pad_same(Window& w, const Shape& spatial, const Dims& kernel, bool upper) {
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t extent = (kernel[i] - 1) * w.dilations[i] + 1;
    int64_t total = extent - 1;
    if (w.strides[i] != 1) {
      if (!spatial[i].is_constant()) {
        throw Error(ErrorKind::unsupported, "auto_pad with stride {} of an axis of the open size {}; give its size",
                    w.strides[i], to_string(spatial[i]));
      }
      const int64_t size = spatial[i].value();
      const int64_t outputs = (size + w.strides[i] - 1) / w.strides[i];
      total = std::max<int64_t>(0, (outputs - 1) * w.strides[i] + extent - size);
    }
    const int64_t less = total / 2;
    w.pads_begin[i] = upper ? less : total - less;
    w.pads_end[i] = total - w.pads_begin[i];
  }
}

}  // namespace

Window window_of(OpContext& op, const Shape& spatial, const Dims& kernel) {
  const size_t rank = kernel.size();
  Window w;
  w.strides = list_attribute(op, "strides", rank, 1);
  w.dilations = list_attribute(op, "dilations", rank, 1);
  for (const int64_t s : w.strides) require(s >= 1, "attribute 'strides' contains {}, expected at least 1", s);
  const Dims pads = list_attribute(op, "pads", 2 * rank, 0);
  const std::string auto_pad = op.attribute("auto_pad", "NOTSET");
  w.pads_begin.assign(rank, 0);
  w.pads_end.assign(rank, 0);
  if (auto_pad == "NOTSET") {
    w.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
    w.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    pad_same(w, spatial, kernel, auto_pad == "SAME_UPPER");
  } else {
    require(auto_pad == "VALID", "attribute 'auto_pad' is '{}', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID",
            auto_pad);
  }
  return w;
}

Shape spatial_sizes(const Value& x) {
  require(x.rank() >= 3, "the input has rank {} ({}), expected batch, channels and at least one spatial axis", x.rank(),
          to_string(x.shape()));
  Shape spatial;
  spatial.assign(x.shape().begin() + 2, x.shape().end());
  return spatial;
}

Dims kernel_shape(OpContext& op, int rank, const Dims& otherwise) {
  if (otherwise.empty()) op.required_integers("kernel_shape");
  const Dims kernel = op.attribute("kernel_shape", otherwise);
  require(static_cast<int>(kernel.size()) == rank, "attribute 'kernel_shape' has {} values, the input {} spatial axes",
          kernel.size(), rank);
  require(otherwise.empty() || kernel == otherwise, "attribute 'kernel_shape' is {}, but the weight's kernel is {}",
          to_string(kernel), to_string(otherwise));
  for (const int64_t k : kernel) require(k >= 1, "attribute 'kernel_shape' contains {}, expected at least 1", k);
  return kernel;
}

}  // namespace arbalest
