// Resize and Upsample. Along each axis the output is a fixed linear function of the input: a gather for nearest
// neighbours, else a product with a matrix of weights. So gradients, every mode and every coordinate transformation
// come for free. Source: ONNX Resize-19, "coordinate_transformation_mode", and its reference implementation.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/base/error.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

constexpr double kMaxSize = 1 << 24;  // of an axis afterwards

struct Settings {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  double extrapolation = 0;
};

struct AxisRequest {
  int axis;
  int64_t size, new_size;
  double scale;
  double region_start = 0, region_end = 1;
};

// Where output i lies in the input.
double source_position(const Settings& s, const AxisRequest& a, int64_t i) {
  const auto x = static_cast<double>(i), size = static_cast<double>(a.size), count = static_cast<double>(a.new_size);
  const double exact = size * a.scale;
  if (s.coordinates == "asymmetric") return x / a.scale;
  if (s.coordinates == "align_corners") return exact == 1 ? 0 : x * (size - 1) / (exact - 1);
  if (s.coordinates == "pytorch_half_pixel" && a.new_size <= 1) return 0;
  if (s.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (s.coordinates == "half_pixel_symmetric") return size / 2 * (1 - count / exact) + (x + 0.5) / a.scale - 0.5;
  if (s.coordinates == "tf_crop_and_resize") {
    if (a.new_size <= 1) return 0.5 * (a.region_start + a.region_end) * (size - 1);
    return a.region_start * (size - 1) + x * (a.region_end - a.region_start) * (size - 1) / (count - 1);
  }
  return (x + 0.5) / a.scale - 0.5;  // half_pixel
}

int64_t nearest_position(const std::string& rounding, double p) {
  if (rounding == "floor") return static_cast<int64_t>(std::floor(p));
  if (rounding == "ceil") return static_cast<int64_t>(std::ceil(p));
  if (rounding == "round_prefer_ceil") return static_cast<int64_t>(std::floor(p + 0.5));
  return static_cast<int64_t>(std::ceil(p - 0.5));
}

double filter(const Settings& s, double distance) {
  const double d = std::abs(distance), a = s.cubic_a;
  if (s.mode == "linear") return std::max(0.0, 1 - d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// Adds the weights of output i to its row.
void add_weights(const Settings& s, const AxisRequest& a, double position, double* row) {
  const double stretch = s.antialias ? std::max(1.0, 1 / a.scale) : 1;
  const double support = (s.mode == "linear" ? 1 : 2) * stretch;
  const auto first = static_cast<int64_t>(std::ceil(position - support - 1e-9));
  const auto last = static_cast<int64_t>(std::floor(position + support + 1e-9));
  const auto weight = [&](int64_t tap) {
    const bool outside = tap < 0 || tap >= a.size;
    return s.exclude_outside && outside ? 0 : filter(s, (static_cast<double>(tap) - position) / stretch);
  };
  double sum = 0;
  for (int64_t tap = first; tap <= last; ++tap) sum += weight(tap);
  if (sum == 0) sum = 1;
  for (int64_t tap = first; tap <= last; ++tap) row[std::clamp<int64_t>(tap, 0, a.size - 1)] += weight(tap) / sum;
}

Value constant_of(Builder& builder, HostTensor tensor) {
  return builder.constant(std::make_shared<const HostTensor>(std::move(tensor)));
}

Value resize_nearest(const Value& x, const Settings& s, const AxisRequest& a) {
  HostTensor indices(DataType::i64, {a.new_size});
  for (int64_t i = 0; i < a.new_size; ++i) {
    const int64_t p = nearest_position(s.nearest, source_position(s, a, i));
    indices.as<int64_t>()[static_cast<size_t>(i)] = std::clamp<int64_t>(p, 0, a.size - 1);
  }
  return gather(x, constant_of(x.builder(), std::move(indices)), a.axis);
}

Value resize_weighted(const Value& x, const Settings& s, const AxisRequest& a) {
  constexpr int64_t kMaxWeights = 1 << 26;
  require(a.new_size <= kMaxWeights / a.size, "axis {}: size {} to {}, more than {} weights", a.axis, a.size,
          a.new_size, kMaxWeights);
  HostTensor weights(DataType::f64, {a.new_size, a.size});
  for (int64_t i = 0; i < a.new_size; ++i) {
    add_weights(s, a, source_position(s, a, i), weights.as<double>().data() + i * a.size);
  }
  const Value matrix = constant_of(x.builder(), weights.to(x.dtype()));
  if (a.axis == x.rank() - 1 && x.rank() >= 2) return matmul(x, matrix, false, true);
  if (a.axis == x.rank() - 2) return matmul(matrix, x);
  std::vector<int> to_end(static_cast<size_t>(x.rank()));
  std::iota(to_end.begin(), to_end.end(), 0);
  std::swap(to_end.back(), to_end[static_cast<size_t>(a.axis)]);
  if (x.rank() >= 2) return transpose(matmul(transpose(x, to_end), matrix, false, true), to_end);
  return reshape(matmul(reshape(x, {Dim(1), x.shape()[0]}), matrix, false, true), {Dim(a.new_size)});
}

// tf_crop_and_resize: outputs whose source lies outside of the input have a fixed value.
Value with_outside_replaced(const Value& y, const Settings& s, const AxisRequest& a) {
  HostTensor inside(DataType::boolean, {a.new_size});
  bool any_outside = false;
  for (int64_t i = 0; i < a.new_size; ++i) {
    const double p = source_position(s, a, i);
    const bool is_inside = 0 <= p && p <= static_cast<double>(a.size - 1);
    inside.as<bool>()[static_cast<size_t>(i)] = is_inside;
    any_outside = any_outside || !is_inside;
  }
  if (!any_outside) return y;
  Shape shape(static_cast<size_t>(y.rank() - a.axis), Dim(1));
  shape[0] = Dim(a.new_size);
  const Value mask = reshape(constant_of(y.builder(), std::move(inside)), shape);
  return map([&](Scalar e, Scalar m) { return select(m, e, s.extrapolation); }, y, mask);
}

Value resize_axis(const Value& x, const Settings& s, const AxisRequest& a) {
  const bool crops = s.coordinates == "tf_crop_and_resize";
  if (a.size == a.new_size && a.scale == 1 && !crops) return x;
  require(a.size > 0 && a.new_size >= 0 && static_cast<double>(a.new_size) <= kMaxSize, "axis {}: size {} to {}",
          a.axis, a.size, a.new_size);
  const Value y = s.mode == "nearest" ? resize_nearest(x, s, a) : resize_weighted(x, s, a);
  return crops ? with_outside_replaced(y, s, a) : y;
}

int64_t known_size(const Value& x, int axis) {
  const Dim& size = x.shape()[static_cast<size_t>(axis)];
  if (!size.is_constant()) {
    throw Error(ErrorKind::unsupported, "axis {} has the open size {}; give its size", axis, to_string(size));
  }
  return size.value();
}

std::vector<int> all_axes(const Value& x) {
  std::vector<int> axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// One request an axis that changes; axes of scale 1 may be open.
Value resize_by_scales(Value x, const Settings& s, const std::vector<int>& axes, const std::vector<double>& scales) {
  require(scales.size() == axes.size(), "{} scales for {} axes", scales.size(), axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    require(scales[i] > 0 && std::isfinite(scales[i]), "scale {} of axis {}", scales[i], axes[i]);
    if (scales[i] == 1 && s.coordinates != "tf_crop_and_resize") continue;
    const int64_t size = known_size(x, axes[i]);
    const double new_size = std::floor(static_cast<double>(size) * scales[i]);
    require(new_size <= kMaxSize, "axis {} becomes too large", axes[i]);
    x = resize_axis(x, s, {axes[i], size, static_cast<int64_t>(new_size), scales[i]});
  }
  return x;
}

std::vector<double> required_numbers(OpContext& op, int input) {
  const auto numbers = op.constant_numbers(input);
  if (!numbers) throw Error(ErrorKind::unsupported, "the scales are computed from the data");
  return *numbers;
}

// Upsample-7: scales are an attribute; -9: an input
Values upsample(OpContext& op) {
  const Value x = op.input(0);
  Settings s{op.attribute("mode", "nearest"), "asymmetric", "floor"};
  require(s.mode == "nearest" || s.mode == "linear" || s.mode == "bilinear", "attribute 'mode' is '{}'", s.mode);
  if (s.mode == "bilinear") s.mode = "linear";
  std::vector<double> scales;
  if (op.version() >= 9) {
    scales = required_numbers(op, 1);
  } else {
    for (const float v : op.float_list("scales")) scales.push_back(v);
  }
  return {resize_by_scales(x, s, all_axes(x), scales)};
}

Settings resize_settings(OpContext& op) {
  Settings s{op.attribute("mode", "nearest"), op.attribute("coordinate_transformation_mode", "half_pixel"),
             op.attribute("nearest_mode", "round_prefer_floor")};
  s.cubic_a = op.attribute("cubic_coeff_a", -0.75f);
  s.exclude_outside = op.attribute("exclude_outside", 0) != 0;
  s.antialias = op.attribute("antialias", 0) != 0;
  s.extrapolation = op.attribute("extrapolation_value", 0.0f);
  require(s.mode == "nearest" || s.mode == "linear" || s.mode == "cubic", "attribute 'mode' is '{}'", s.mode);
  constexpr std::string_view kCoordinates[] = {"half_pixel",        "pytorch_half_pixel", "half_pixel_symmetric",
                                               "asymmetric",        "align_corners",      "tf_half_pixel_for_nn",
                                               "tf_crop_and_resize"};
  require(std::find(std::begin(kCoordinates), std::end(kCoordinates), s.coordinates) != std::end(kCoordinates),
          "attribute 'coordinate_transformation_mode' is '{}'", s.coordinates);
  return s;
}

// sizes given: the scale is their ratio, or one for all axes that keeps the aspect ratio (Resize-18).
Value resize_to_sizes(OpContext& op, Value x, const Settings& s, const std::vector<int>& axes) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; const Dim& d : op.contents(3)) {
    const bool unchanged = i < axes.size() && d == x.shape()[static_cast<size_t>(axes[i])];
    if (!d.is_constant() && !unchanged)
      throw Error(ErrorKind::unsupported, "an output of the open size {}", to_string(d));
    sizes.push_back(unchanged ? -1 : d.value());
    ++i;
  }
  require(sizes.size() == axes.size(), "{} sizes for {} axes", sizes.size(), axes.size());
  const std::string policy = op.attribute("keep_aspect_ratio_policy", "stretch");
  std::optional<double> common;
  for (size_t i = 0; i < axes.size() && policy != "stretch"; ++i) {
    const auto size = static_cast<double>(known_size(x, axes[i]));
    const double scale = (sizes[i] < 0 ? size : static_cast<double>(sizes[i])) / size;
    if (!common || (policy == "not_larger") == (scale < *common)) common = scale;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (sizes[i] < 0 && s.coordinates != "tf_crop_and_resize" && !common) continue;
    const int64_t size = known_size(x, axes[i]);
    const int64_t wanted = sizes[i] < 0 ? size : sizes[i];
    const double scale = common.value_or(static_cast<double>(wanted) / static_cast<double>(std::max<int64_t>(size, 1)));
    const int64_t new_size =
        common ? static_cast<int64_t>(std::floor(static_cast<double>(size) * scale + 0.5)) : wanted;
    x = resize_axis(x, s, {axes[i], size, new_size, scale});
  }
  return x;
}

// The region of tf_crop_and_resize: starts, then ends, of the axes.
Value resize_region(OpContext& op, Value x, const Settings& s, const std::vector<int>& axes) {
  const std::vector<double> region = required_numbers(op, 1);
  require(region.size() == 2 * axes.size(), "a region of {} numbers for {} axes", region.size(), axes.size());
  const bool by_sizes = op.has_input(3);
  const std::vector<double> given = by_sizes ? required_numbers(op, 3) : required_numbers(op, 2);
  require(given.size() == axes.size(), "{} sizes or scales for {} axes", given.size(), axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t size = known_size(x, axes[i]);
    const double length = region[i + axes.size()] - region[i];
    const double new_size = by_sizes ? given[i] : std::floor(static_cast<double>(size) * length * given[i]);
    require(new_size >= 0 && new_size <= kMaxSize, "axis {} becomes {}", axes[i], new_size);
    AxisRequest a{axes[i], size, static_cast<int64_t>(new_size),
                  by_sizes ? new_size / static_cast<double>(size) : given[i]};
    a.region_start = region[i];
    a.region_end = region[i + axes.size()];
    x = resize_axis(x, s, a);
  }
  return x;
}

// Resize-10: input and scales; -11, 13: region, scales or sizes; -18, 19: of the axes that the attribute names
Values resize(OpContext& op) {
  const Value x = op.input(0);
  if (op.version() < 11) {
    Settings s{op.attribute("mode", "nearest"), "asymmetric", "floor"};
    return {resize_by_scales(x, s, all_axes(x), required_numbers(op, 1))};
  }
  const Settings s = resize_settings(op);
  std::vector<int> axes = all_axes(x);
  if (op.version() >= 18 && op.has_attribute("axes")) {
    axes.clear();
    for (const int64_t a : op.required_integers("axes")) axes.push_back(normalise_axis(a, x.rank()));
  }
  op.has_attribute("keep_aspect_ratio_policy");
  op.has_input(1);
  const bool has_scales = op.has_input(2) && !(op.input(2).shape().element_count() == Dim(0));
  require(has_scales || op.has_input(3), "neither scales nor sizes are given");
  if (s.coordinates == "tf_crop_and_resize") return {resize_region(op, x, s, axes)};
  if (has_scales) return {resize_by_scales(x, s, axes, required_numbers(op, 2))};
  return {resize_to_sizes(op, x, s, axes)};
}

}  // namespace

void register_resize(Translator& t);
void register_resize(Translator& t) {
  t.add("Upsample", {1, 7, 9}, upsample);
  t.add("Resize", {10, 11, 13, 18, 19}, resize);
}

}  // namespace arbalest
