// Pooling over 1 to 3 spatial axes.
#include <numeric>

#include "graph/base/error.h"
#include "graph/element_index.h"
#include "onnx_import/window.h"

namespace arbalest {
namespace {

struct Pooling {
  Value x;
  Window window;
  Dims kernel;
  bool ceil_mode;
};

Pooling pooling_of(OpContext& op) {
  const Value x = op.input(0);
  const Shape spatial = spatial_sizes(x);
  const Dims kernel = kernel_shape(op, spatial.rank());
  const Window window = window_of(op, spatial, kernel);
  return {x, window, kernel, op.attribute("ceil_mode", 0) != 0};
}

// factor * 0, factor * 1, ... along one axis of a rank-n tensor, plus an offset.
Value steps(OpContext& op, const Dim& count, int axis, int rank, const Dim& factor, const Dim& offset) {
  Builder& b = op.builder();
  return position_numbers(b, count, axis, rank) * b.integers({factor}, {}) + b.integers({offset}, {});
}

// Where the maxima lie in the whole input: `place` is their row-major place in the window. In column-major order
// (storage_order 1) the first spatial axis runs fastest.
Value indices_of(OpContext& op, const Pooling& p, const Value& place, bool column_major) {
  const Shape &x = p.x.shape(), &y = place.shape();
  const Shape image(x.begin() + 2, x.end());
  if (!image.is_static())
    throw Error(ErrorKind::unsupported, "indices in an image of the open shape {}", to_string(image));
  const Dims spatial = image.dims();
  const size_t axes = spatial.size();
  Dims stride = row_major_strides(spatial), inner = row_major_strides(p.kernel);
  for (size_t a = 0; a < axes && column_major; ++a) stride[a] = a == 0 ? 1 : stride[a - 1] * spatial[a - 1];
  const auto offset_in_window = [&](Scalar k) {
    Scalar offset = Scalar::constant(int64_t{0}, DataType::i64);
    for (size_t a = 0; a < axes; ++a) {
      const auto number = [](int64_t v) { return Scalar::constant(v, DataType::i64); };
      const Scalar step = Scalar::make(ScalarOp::mod, {k / number(inner[a]), number(p.kernel[a])});
      offset = offset + step * number(p.window.dilations[a] * stride[a]);
    }
    return offset;
  };
  Value index = map(offset_in_window, cast(place, DataType::i64));
  const int rank = place.rank();
  for (size_t a = 0; a < axes; ++a) {
    index = index + steps(op, y[a + 2], static_cast<int>(a) + 2, rank, p.window.strides[a] * stride[a],
                          -p.window.pads_begin[a] * stride[a]);
  }
  const Dim pixels = image.element_count();
  return index + steps(op, x[1], 1, rank, pixels, 0) + steps(op, x[0], 0, rank, pixels * x[1], 0);
}

// MaxPool-1, 8, 10, 11, 12, 22. storage_order concerns the indices only.
Values max_pool(OpContext& op) {
  const Pooling p = pooling_of(op);
  const bool column_major = op.attribute("storage_order", 0) != 0;
  const DataType type = p.x.dtype();
  const Value x = is_float(type) ? p.x : cast(p.x, DataType::f32);  // int8 and uint8
  const Values y = op.builder().emit(MaxPool{p.window, Shape(p.kernel), p.ceil_mode}, {x});
  Values outputs{cast(y[0], type)};
  if (op.output_used(1)) outputs.push_back(indices_of(op, p, y[1], column_major));
  return outputs;
}

// AveragePool-1 (padding never counts), 7, 10, 11, 19, 22
Values average_pool(OpContext& op) {
  const Pooling p = pooling_of(op);
  const bool count_include_pad = op.attribute("count_include_pad", 0) != 0;
  return op.builder().emit(AveragePool{p.window, Shape(p.kernel), p.ceil_mode, count_include_pad}, {p.x});
}

// |x|^p and its inverse.
Value whole_power(const Value& x, int64_t p) {
  if (p == 1) return map([](Scalar e) { return abs(e); }, x);
  if (p == 2) return x * x;
  return map([&](Scalar e) { return pow(abs(e), static_cast<double>(p)); }, x);
}
Value root(const Value& x, int64_t p) {
  return map([&](Scalar e) { return p == 2 ? sqrt(e) : pow(e, 1.0 / static_cast<double>(p)); }, x);
}

// LpPool-1, 2, 11, 18, 22: an average with a fixed divisor, times that divisor. Windows that reach beyond the end
// padding (ceil_mode) get it extended, so that the divisor stays the size of the kernel.
Values lp_pool(OpContext& op) {
  Pooling p = pooling_of(op);
  const int64_t norm = op.attribute("p", 2);
  require(norm >= 1, "attribute 'p' is {}, expected at least 1", norm);
  const Shape spatial = spatial_sizes(p.x);
  for (size_t i = 0; i < p.kernel.size() && p.ceil_mode; ++i) {
    const int axis = static_cast<int>(i);
    const Dim outputs = window_output(p.window, axis, spatial[i], p.kernel[i], true);
    const Dim reach = (outputs - 1) * p.window.strides[i] + (p.kernel[i] - 1) * p.window.dilations[i] + 1;
    const Dim missing = reach - spatial[i] - p.window.pads_begin[i] - p.window.pads_end[i];
    if (!missing.is_constant()) {
      throw Error(ErrorKind::unsupported, "ceil_mode of an axis of the open size {}", to_string(spatial[i]));
    }
    p.window.pads_end[i] += std::max<int64_t>(missing.value(), 0);
  }
  const auto count = std::accumulate(p.kernel.begin(), p.kernel.end(), int64_t{1}, std::multiplies<>());
  const AveragePool pool{p.window, Shape(p.kernel), false, true};
  return {root(op.builder().emit_one(pool, {whole_power(p.x, norm)}) * static_cast<double>(count), norm)};
}

Window whole_window(int rank) {
  const auto n = static_cast<size_t>(rank);
  return {Dims(n, 1), Dims(n, 1), Dims(n, 0), Dims(n, 0)};
}

std::vector<int> spatial_axes(const Value& x) {
  std::vector<int> axes(static_cast<size_t>(x.rank()) - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

constexpr int kMaxSpatial = 3;  // of the pooling primitives

// GlobalAveragePool-1, 22
Values global_average_pool(OpContext& op) {
  const Value x = op.input(0);
  const Shape spatial = spatial_sizes(x);
  if (spatial.rank() > kMaxSpatial) return {reduce(Reduction::mean, x, spatial_axes(x), Keep::yes)};
  return op.builder().emit(AveragePool{whole_window(spatial.rank()), spatial, false, false}, {x});
}

// GlobalMaxPool-1, 22
Values global_max_pool(OpContext& op) {
  const Value x = op.input(0);
  const Shape spatial = spatial_sizes(x);
  if (spatial.rank() > kMaxSpatial) return {reduce(Reduction::max, x, spatial_axes(x), Keep::yes)};
  return {op.builder().emit(MaxPool{whole_window(spatial.rank()), spatial, false}, {x}).front()};
}

// GlobalLpPool-1, 2, 22
Values global_lp_pool(OpContext& op) {
  const Value x = op.input(0);
  spatial_sizes(x);
  const int64_t norm = op.attribute("p", 2);
  require(norm >= 1, "attribute 'p' is {}, expected at least 1", norm);
  return {root(reduce(Reduction::sum, whole_power(x, norm), spatial_axes(x), Keep::yes), norm)};
}

}  // namespace

void register_pool(Translator& t);
void register_pool(Translator& t) {
  t.add("MaxPool", {1, 8, 10, 11, 12, 22}, max_pool);
  t.add("AveragePool", {1, 7, 10, 11, 19, 22}, average_pool);
  t.add("LpPool", {2, 11, 18, 22}, lp_pool);
  t.add("GlobalAveragePool", {1, 22}, global_average_pool);
  t.add("GlobalMaxPool", {1, 22}, global_max_pool);
  t.add("GlobalLpPool", {2, 22}, global_lp_pool);
}

}  // namespace arbalest
