// Operators on regions of an image.
#include <algorithm>

#include "graph/base/error.h"
#include "graph/element_index.h"
#include "onnx_import/pixels.h"

namespace arbalest {
namespace {

// ---- RoiAlign-10, 16, 22

// Along one axis of the image: how much each pixel counts for each bin of each region, as the mean of its samples.
// Regions do not train, as in the detectors that use them.
struct RegionAxis {
  int64_t size;  // of the image
  int64_t bins;
  int64_t samples;   // a bin; 0: as many as pixels in it, rounded up
  Value start, end;  // [regions]
  bool half_pixel;
};

struct RegionSamples {
  Value position;  // [regions, bins, samples]
  Value counts;    // the same: whether the sample exists
  Value number;    // [regions, 1, 1]: samples of a bin
};

RegionSamples region_samples(const RegionAxis& a) {
  Builder& b = a.start.builder();
  const Dim regions = a.start.shape()[0];
  const Value first = reshape(a.start, {regions, 1, 1});
  const auto bin_width = [&](Scalar from, Scalar to) {
    const Scalar width = to - from;
    const Scalar whole = a.half_pixel ? width : max(width, Scalar::constant(1.0, width.type()));
    return whole / static_cast<double>(a.bins);
  };
  const Value step = map(bin_width, first, reshape(a.end, {regions, 1, 1}));
  const DataType type = step.dtype();
  // Regions that reach far beyond the image have no more samples than this.
  const int64_t most = a.samples > 0 ? a.samples : 2 * (a.size / a.bins + 1);
  const auto number_of = [&](Scalar s) {
    if (a.samples > 0) return s * 0 + static_cast<double>(a.samples);
    return bounded(Scalar::make(ScalarOp::ceil, {s}), 0, static_cast<double>(most));
  };
  RegionSamples r;
  r.number = map(number_of, step);
  const Value bin = cast(position_numbers(b, a.bins, 1, 3), type), sample = cast(position_numbers(b, most, 2, 3), type);
  const auto at = [](Scalar s, Scalar w, Scalar bin, Scalar i, Scalar n) { return s + bin * w + (i + 0.5) * w / n; };
  r.position = map(at, first, step, bin, sample, r.number);
  r.counts = map([](Scalar i, Scalar n, Scalar) { return i < n; }, sample, r.number, r.position);
  return r;
}

bool is_whole(const RegionAxis& a) { return a.samples > 0; }

// A sample further than one pixel outside the image counts nothing.
Scalar lies_near(const Scalar& t, int64_t size) { return t >= -1.0 && t <= static_cast<double>(size); }

// [regions, bins, pixels]
Value mean_weights(const RegionAxis& a) {
  const RegionSamples s = region_samples(a);
  const Shape& shape = s.position.shape();
  const Value position = reshape(s.position, {shape[0], shape[1], shape[2], 1});
  const Value counts = reshape(s.counts, {shape[0], shape[1], shape[2], 1});
  const Value pixel = cast(position_numbers(position.builder(), a.size, 3, 4), position.dtype());
  const auto weight = [&](Scalar t, Scalar counted, Scalar p) {
    const Scalar distance = abs(bounded(t, 0, static_cast<double>(a.size - 1)) - p);
    return select(counted && lies_near(t, a.size) && distance < 1, 1 - distance, 0.0);
  };
  const Value sum = reduce(Reduction::sum, map(weight, position, counts, pixel), {2}, Keep::no);
  return map([](Scalar w, Scalar n) { return w / select(n < 1, 1.0, n); }, sum, s.number);
}

// The two pixels beside each sample and their weights, with bins and samples as one axis.
std::vector<Tap> region_taps(const RegionAxis& a, const RegionSamples& s, const Shape& shape) {
  const auto last = static_cast<double>(a.size - 1);
  std::vector<Tap> taps;
  for (const double k : {0.0, 1.0}) {
    const auto index = [&](Scalar t) {
      return cast(bounded(floor_of(bounded(t, 0, last)) + k, 0, last), DataType::i64);
    };
    const auto weight = [&](Scalar t) {
      const Scalar c = bounded(t, 0, last), fraction = c - floor_of(c);
      return select(lies_near(t, a.size), k == 0 ? 1 - fraction : fraction, 0.0);
    };
    taps.push_back({reshape(map(index, s.position), shape), reshape(map(weight, s.position), shape)});
  }
  return taps;
}

// The greatest of the weighted pixels themselves, not of the interpolated samples: so ONNX defines it.
Value region_maximum(const Value& x, const Value& image, const RegionAxis& rows, const RegionAxis& columns) {
  const RegionSamples sy = region_samples(rows), sx = region_samples(columns);
  const Dim regions = image.shape()[0], height = sy.position.shape()[1] * sy.position.shape()[2],
            width = sx.position.shape()[1] * sx.position.shape()[2];
  const Shape tall{regions, height, 1}, wide{regions, 1, width};
  const auto counted =
      map([](Scalar a, Scalar b) { return a && b; }, reshape(sy.counts, tall), reshape(sx.counts, wide));
  const Value pixels = pixel_rows(x), offset = reshape(image, {regions, 1, 1});
  Value greatest;
  for (const Tap& ty : region_taps(rows, sy, tall)) {
    for (const Tap& tx : region_taps(columns, sx, wide)) {
      const auto at = [&](Scalar n, Scalar y, Scalar x) {
        return (n * static_cast<double>(rows.size) + y) * static_cast<double>(columns.size) + x;
      };
      const Value read = gather(pixels, map(at, offset, ty.index, tx.index), 0);
      const Value weight = reshape(ty.weight * tx.weight, {regions, height, width, 1});
      const Value term = read * cast(weight, x.dtype());
      greatest = greatest ? map([](Scalar a, Scalar b) { return max(a, b); }, greatest, term) : term;
    }
  }
  if (!is_whole(rows) || !is_whole(columns)) {
    greatest = map([](Scalar v, Scalar c) { return select(c, v, -1e30); }, greatest,
                   reshape(counted, {regions, height, width, 1}));
  }
  const Value split = reshape(greatest, {regions, rows.bins, floor_div(height, rows.bins), columns.bins,
                                         floor_div(width, columns.bins), x.shape()[1]});
  return transpose(reduce(Reduction::max, split, {2, 4}, Keep::no), {0, 3, 1, 2});
}

Values roi_align(OpContext& op) {
  const Value x = op.input(0), regions = stop_gradient(op.input(1)), image = cast(op.input(2), DataType::i64);
  require(x.rank() == 4 && regions.rank() == 2 && regions.shape()[1] == Dim(4) && image.rank() == 1,
          "input, regions and batch indices have shapes {}, {} and {}", to_string(x.shape()),
          to_string(regions.shape()), to_string(image.shape()));
  const std::string mode = op.attribute("mode", "avg");
  require(mode == "avg" || mode == "max", "attribute 'mode' is '{}', expected 'avg' or 'max'", mode);
  bool half_pixel = false;
  if (op.version() >= 16) {
    const std::string transformation = op.attribute("coordinate_transformation_mode", "half_pixel");
    half_pixel = transformation == "half_pixel";
    require(half_pixel || transformation == "output_half_pixel",
            "attribute 'coordinate_transformation_mode' is '{}', expected 'half_pixel' or 'output_half_pixel'",
            transformation);
  }
  const double scale = op.attribute("spatial_scale", 1.0f), offset = half_pixel ? 0.5 : 0;
  const int64_t samples = op.attribute("sampling_ratio", 0);
  const int64_t height = op.attribute("output_height", 1), width = op.attribute("output_width", 1);
  require(height > 0 && width > 0 && samples >= 0, "{} x {} bins of {} samples", height, width, samples);
  const auto edge = [&](int64_t i) {
    return map([&](Scalar e) { return e * scale - offset; }, reshape(slice(regions, 1, i, 1), {regions.shape()[0]}));
  };
  const RegionAxis rows{
      known_size(x.shape()[2], "an axis of the image"), height, samples, edge(1), edge(3), half_pixel};
  const RegionAxis columns{
      known_size(x.shape()[3], "an axis of the image"), width, samples, edge(0), edge(2), half_pixel};
  require(rows.size > 0 && columns.size > 0, "the image has shape {}", to_string(x.shape()));
  if (mode == "max") return {region_maximum(x, image, rows, columns)};
  // Bilinear samples are products of weights of rows and of columns, so their mean is a product of matrices.
  const auto matrix = [&](const RegionAxis& a) {
    const Value w = cast(mean_weights(a), x.dtype());
    return reshape(w, {w.shape()[0], 1, w.shape()[1], w.shape()[2]});
  };
  return {matmul(matmul(matrix(rows), gather(x, image, 0)), matrix(columns), false, true)};
}

}  // namespace

void register_regions(Translator& t);
void register_regions(Translator& t) { t.add("RoiAlign", {10, 16, 22}, roi_align); }

}  // namespace arbalest
