// DeformConv-19, 22: a convolution whose window reads each of its elements between the pixels, where an input says.
#include "graph/base/error.h"
#include "graph/element_index.h"
#include "onnx_import/pixels.h"

namespace arbalest {
namespace {

// One axis of the image; rows and columns are alike.
struct DeformedAxis {
  int64_t size, kernel, stride, dilation, pad, output;
};

struct Deformed {
  int64_t batch_groups, groups, channels;
  DeformedAxis rows, columns;
  int64_t elements() const { return rows.kernel * columns.kernel; }
};

DeformedAxis deformed_axis(const Dim& size, const Dim& kernel, const Dim& output, int64_t stride, int64_t dilation,
                           int64_t pad) {
  return {known_size(size, "an axis of the image"),   known_size(kernel, "the kernel"), stride, dilation, pad,
          known_size(output, "an axis of the output")};
}

// Where element k of the window lies for each output along one axis, without the offsets: 1 x 1 x elements x (outputs
// x 1, or 1 x outputs).
Value window_positions(Builder& b, const Deformed& d, bool is_row, DataType type) {
  const DeformedAxis& a = is_row ? d.rows : d.columns;
  const Value element = position_numbers(b, d.elements(), 2, 5);
  const Value output = position_numbers(b, a.output, is_row ? 3 : 4, 5);
  const auto place = [&](Scalar e, Scalar o) {
    const Scalar k = is_row ? Scalar::make(ScalarOp::div, {e, Scalar::constant(d.columns.kernel, DataType::i64)})
                            : Scalar::make(ScalarOp::mod, {e, Scalar::constant(d.columns.kernel, DataType::i64)});
    return cast(o * static_cast<double>(a.stride) + k * static_cast<double>(a.dilation) - static_cast<double>(a.pad),
                type);
  };
  return map(place, element, output);
}

// The two pixels beside each position; what lies outside counts nothing.
std::vector<Tap> linear_taps(const Value& position, int64_t size) {
  const auto last = static_cast<double>(size - 1);
  std::vector<Tap> taps;
  for (const double k : {0.0, 1.0}) {
    const auto index = [&](Scalar t) { return cast(bounded(floor_of(t) + k, 0, last), DataType::i64); };
    const auto weight = [&](Scalar t) {
      const Scalar fraction = t - floor_of(t), place = floor_of(t) + k;
      return select(place >= 0 && place <= last, k == 0 ? 1 - fraction : fraction, 0.0);
    };
    taps.push_back({map(index, position), map(weight, position)});
  }
  return taps;
}

// [batch, offset groups, elements, rows, columns, channels of a group]
Value read_between_pixels(const Value& x, const Value& offset, const Deformed& d) {
  Builder& b = x.builder();
  const Dim batch = x.shape()[0];
  const auto positions = [&](int64_t part) {
    const Value own =
        reshape(slice(offset, 3, part, 1), {batch, d.batch_groups, d.elements(), d.rows.output, d.columns.output});
    return own + window_positions(b, d, part == 0, offset.dtype());
  };
  const Value y = positions(0), x_place = positions(1);
  const Dim pixels = batch * d.rows.size * d.columns.size;
  const Value rows = reshape(pixel_rows(x), {pixels * d.batch_groups, d.channels / d.batch_groups});
  const Value image = position_numbers(b, batch, 0, 5), group = position_numbers(b, d.batch_groups, 1, 5);
  Value sum;
  for (const Tap& ty : linear_taps(y, d.rows.size)) {
    for (const Tap& tx : linear_taps(x_place, d.columns.size)) {
      const auto row = [&](Scalar n, Scalar r, Scalar c, Scalar g) {
        const Scalar pixel = (n * static_cast<double>(d.rows.size) + r) * static_cast<double>(d.columns.size) + c;
        return pixel * static_cast<double>(d.batch_groups) + g;
      };
      const Value weight = cast(ty.weight * tx.weight, x.dtype());
      Shape column = weight.shape();
      column.emplace_back(1);
      const Value term = gather(rows, map(row, image, ty.index, tx.index, group), 0) * reshape(weight, column);
      sum = sum ? sum + term : term;
    }
  }
  return sum;
}

Deformed deformed_of(OpContext& op, const Value& x, const Value& w, const Value& offset) {
  require(x.rank() == 4 && w.rank() == 4 && offset.rank() == 4, "input, weight and offset have shapes {}, {} and {}",
          to_string(x.shape()), to_string(w.shape()), to_string(offset.shape()));
  op.ignore_attribute("kernel_shape");
  const Dims strides = op.attribute("strides", Dims{1, 1}), dilations = op.attribute("dilations", Dims{1, 1});
  const Dims pads = op.attribute("pads", Dims{0, 0, 0, 0});
  require(strides.size() == 2 && dilations.size() == 2 && pads.size() == 4, "{} strides, {} dilations and {} pads",
          strides.size(), dilations.size(), pads.size());
  Deformed d;
  d.batch_groups = op.attribute("offset_group", 1);
  d.groups = op.attribute("group", 1);
  d.channels = known_size(x.shape()[1], "the axis of channels");
  const auto axis = [&](size_t i) {
    return deformed_axis(x.shape()[i + 2], w.shape()[i + 2], offset.shape()[i + 2], strides[i], dilations[i], pads[i]);
  };
  d.rows = axis(0), d.columns = axis(1);
  require(d.groups > 0 && d.batch_groups > 0 && d.channels % d.groups == 0 && d.channels % d.batch_groups == 0,
          "{} channels in {} groups and {} groups of offsets", d.channels, d.groups, d.batch_groups);
  require(w.shape()[1] == Dim(d.channels / d.groups), "the weight expects {} channels, a group of the input has {}",
          to_string(w.shape()[1]), d.channels / d.groups);
  require(offset.shape()[1] == Dim(2 * d.batch_groups * d.elements()), "the offset has shape {}, expected {} channels",
          to_string(offset.shape()), 2 * d.batch_groups * d.elements());
  for (const DeformedAxis* a : {&d.rows, &d.columns})
    require(a->size > 0, "the image has shape {}", to_string(x.shape()));
  return d;
}

Values deform_conv(OpContext& op) {
  const Value x = op.input(0), w = op.input(1), offset = op.input(2);
  const Deformed d = deformed_of(op, x, w, offset);
  const Dim batch = x.shape()[0], area = Dim(d.rows.output) * d.columns.output;
  const Value pairs = reshape(offset, {batch, d.batch_groups, d.elements(), 2, area});
  Value read = read_between_pixels(x, pairs, d);
  if (op.has_input(4)) {
    read = read * reshape(op.input(4), {batch, d.batch_groups, d.elements(), d.rows.output, d.columns.output, 1});
  }
  const int64_t depth = d.channels / d.groups * d.elements();
  const Value columns = reshape(transpose(read, {0, 1, 5, 2, 3, 4}), {batch, d.groups, depth, area});
  const Dim outputs = w.shape()[0], in_group = floor_div(outputs, d.groups);
  const Value weights = reshape(w, {1, d.groups, in_group, depth});
  Value y = reshape(matmul(weights, columns), {batch, outputs, d.rows.output, d.columns.output});
  if (op.has_input(3)) y = y + reshape(op.input(3), {outputs, 1, 1});
  return {y};
}

}  // namespace

void register_deform_conv(Translator& t);
void register_deform_conv(Translator& t) { t.add("DeformConv", {19, 22}, deform_conv); }

}  // namespace arbalest
