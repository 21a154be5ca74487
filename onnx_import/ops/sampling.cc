// Operators that read an image between its pixels, at places that a grid names.
#include <algorithm>

#include "graph/base/error.h"
#include "graph/element_index.h"
#include "onnx_import/pixels.h"

namespace arbalest {
namespace {

// ---- GridSample-16, 20, 22

enum class Padding { zeros, border, reflection };

struct SampledAxis {
  double size;
  double low, high;  // where coordinates are reflected
  Padding padding;
};

// A triangular wave between the borders.
Scalar reflected(const Scalar& x, const SampledAxis& a) {
  const double width = a.high - a.low;
  if (width <= 0) return x * 0 + a.low;
  const Scalar u = x - a.low, v = u - 2 * width * floor_of(u / (2 * width));
  return a.low + select(v > width, 2 * width - v, v);
}

Scalar into_borders(const Scalar& x, const SampledAxis& a) {
  if (a.padding == Padding::border) return bounded(x, 0, a.size - 1);
  return a.padding == Padding::reflection ? reflected(x, a) : x;
}

Scalar cubic_inner(const Scalar& d) { return ((-0.75 + 2) * d - (-0.75 + 3)) * d * d + 1; }
Scalar cubic_outer(const Scalar& d) { return ((-0.75 * d + 5 * 0.75) * d - 8 * 0.75) * d + 4 * 0.75; }

// Keys 1981, with a = -0.75: of the pixels from one before to two behind.
Scalar tap_weight(const std::string& mode, const Scalar& fraction, int k) {
  if (mode == "linear") return k == 0 ? 1 - fraction : fraction;
  const Scalar distance = k <= 0 ? fraction - static_cast<double>(k) : static_cast<double>(k) - fraction;
  return k == 0 || k == 1 ? cubic_inner(distance) : cubic_outer(distance);
}

Tap tap_of(const Value& position, const SampledAxis& a, const std::string& mode, int k) {
  const auto place = [&](const Scalar& t) { return mode == "nearest" ? t : floor_of(t) + static_cast<double>(k); };
  const auto index = [&](Scalar t) { return cast(bounded(into_borders(place(t), a), 0, a.size - 1), DataType::i64); };
  const auto weight = [&](Scalar t) {
    const Scalar one = t * 0 + 1;
    const Scalar w = mode == "nearest" ? one : tap_weight(mode, t - floor_of(t), k);
    if (a.padding != Padding::zeros) return w;
    return select(place(t) >= 0 && place(t) <= a.size - 1, w, 0.0);
  };
  return {map(index, position), map(weight, position)};
}

struct GridSampling {
  std::string mode;  // nearest, linear, cubic
  Padding padding = Padding::zeros;
  bool align_corners = false;
};

GridSampling grid_sampling(OpContext& op) {
  GridSampling g;
  g.mode = op.attribute("mode", op.version() >= 20 ? "linear" : "bilinear");
  if (g.mode == "bilinear") g.mode = "linear";
  if (g.mode == "bicubic") g.mode = "cubic";
  require(g.mode == "linear" || g.mode == "cubic" || g.mode == "nearest",
          "attribute 'mode' is '{}', expected 'nearest', 'linear' or 'cubic'", g.mode);
  const std::string padding = op.attribute("padding_mode", "zeros");
  require(padding == "zeros" || padding == "border" || padding == "reflection",
          "attribute 'padding_mode' is '{}', expected 'zeros', 'border' or 'reflection'", padding);
  g.padding = padding == "zeros" ? Padding::zeros : padding == "border" ? Padding::border : Padding::reflection;
  g.align_corners = op.attribute("align_corners", 0) != 0;
  return g;
}

// The taps of one axis, from its component of the grid.
std::vector<Tap> taps_of_axis(const Value& component, const GridSampling& g, double size) {
  const SampledAxis a{size, g.align_corners ? 0 : -0.5, g.align_corners ? size - 1 : size - 0.5, g.padding};
  const auto position = [&](Scalar c) {
    Scalar t = g.align_corners ? (c + 1) * (0.5 * (size - 1)) : ((c + 1) * size - 1) * 0.5;
    if (g.mode == "nearest") t = Scalar::make(ScalarOp::round, {t});
    return into_borders(t, a);
  };
  const Value t = map(position, component);
  std::vector<Tap> taps;
  const int first = g.mode == "cubic" ? -1 : 0, last = g.mode == "cubic" ? 2 : g.mode == "linear" ? 1 : 0;
  for (int k = first; k <= last; ++k) taps.push_back(tap_of(t, a, g.mode, k));
  return taps;
}

Value grid_component(const Value& grid, int64_t i) {
  Shape shape = grid.shape();
  shape.pop_back();
  return reshape(slice(grid, grid.rank() - 1, i, 1), shape);
}

Values grid_sample(OpContext& op) {
  const Value x = op.input(0), grid = op.input(1);
  const GridSampling g = grid_sampling(op);
  const int axes = x.rank() - 2;
  require(axes >= 1 && grid.rank() == x.rank() && grid.shape().back() == Dim(axes),
          "the input has shape {}, the grid {}", to_string(x.shape()), to_string(grid.shape()));
  // Sums over the axes done so far: index of the pixel in its image, weight. The last axis is the grid's first number.
  const Value image = position_numbers(op.builder(), x.shape()[0], 0, grid.rank() - 1);
  std::vector<Tap> sum{{image, Value()}};
  for (int i = 0; i < axes; ++i) {
    const int64_t size = known_size(x.shape()[static_cast<size_t>(i) + 2], "an axis of the image");
    require(size > 0, "the image has shape {}", to_string(x.shape()));
    const std::vector<Tap> taps = taps_of_axis(grid_component(grid, axes - 1 - i), g, static_cast<double>(size));
    std::vector<Tap> next;
    for (const Tap& s : sum) {
      for (const Tap& t : taps) {
        const Value index =
            map([&](Scalar p, Scalar q) { return p * static_cast<double>(size) + q; }, s.index, t.index);
        next.push_back({index, s.weight ? s.weight * t.weight : t.weight});
      }
    }
    sum = std::move(next);
  }
  const Value rows = pixel_rows(x);
  Value y;
  for (const Tap& t : sum) {
    Shape column = t.weight.shape();
    column.emplace_back(1);
    const Value term = gather(rows, t.index, 0) * reshape(cast(t.weight, x.dtype()), column);
    y = y ? y + term : term;
  }
  std::vector<int> channels_first{0, y.rank() - 1};
  for (int i = 1; i + 1 < y.rank(); ++i) channels_first.push_back(i);
  return {transpose(y, channels_first)};
}

// ---- AffineGrid-20

constexpr int64_t kMaxGridPoints = 1 << 24;

// Homogeneous coordinates of the grid's points, [points, axes + 1]; the last axis of the image comes first.
HostTensor base_grid(const Dims& sizes, bool align_corners) {
  const int64_t points = element_count(sizes);
  require(points <= kMaxGridPoints, "a grid of {} points, expected at most {}", points, kMaxGridPoints);
  const auto axes = static_cast<int64_t>(sizes.size());
  HostTensor t(DataType::f64, {points, axes + 1});
  for (int64_t p = 0; p < points; ++p) {
    int64_t rest = p;
    for (int64_t i = axes; i-- > 0;) {
      const auto size = static_cast<double>(sizes[static_cast<size_t>(i)]);
      const auto k = static_cast<double>(rest % sizes[static_cast<size_t>(i)]);
      rest /= sizes[static_cast<size_t>(i)];
      const double aligned = size > 1 ? 2 * k / (size - 1) - 1 : -1;
      t.as<double>()[static_cast<size_t>(p * (axes + 1) + axes - 1 - i)] =
          align_corners ? aligned : (2 * k + 1) / size - 1;
    }
    t.as<double>()[static_cast<size_t>(p * (axes + 1) + axes)] = 1;
  }
  return t;
}

Values affine_grid(OpContext& op) {
  const Value theta = op.input(0);
  const std::vector<Dim> size = op.contents(1);
  const bool align_corners = op.attribute("align_corners", 0) != 0;
  require(size.size() == 4 || size.size() == 5, "a size of {} entries, expected 4 or 5", size.size());
  Dims sizes;
  for (size_t i = 2; i < size.size(); ++i) sizes.push_back(known_size(size[i], "an axis of the grid"));
  for (const int64_t s : sizes) require(s > 0, "a grid of {}", to_string(sizes));
  const auto axes = static_cast<int64_t>(sizes.size());
  require(theta.rank() == 3 && theta.shape()[1] == Dim(axes) && theta.shape()[2] == Dim(axes + 1),
          "theta has shape {}, expected {} x {} matrices", to_string(theta.shape()), axes, axes + 1);
  const HostTensor base = base_grid(sizes, align_corners).to(theta.dtype());
  const Value points = op.builder().constant(std::make_shared<const HostTensor>(base));
  Shape shape{theta.shape()[0]};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  shape.emplace_back(axes);
  return {reshape(matmul(points, theta, false, true), shape)};
}

}  // namespace

void register_sampling(Translator& t);
void register_sampling(Translator& t) {
  t.add("GridSample", {16, 20, 22}, grid_sample);
  t.add("AffineGrid", {20}, affine_grid);
}

}  // namespace arbalest
