// Signal processing: windows, and Fourier transforms as products with constant matrices.
#include <cmath>
#include <numbers>

#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

constexpr int64_t kMaxElements = 1 << 24;  // of a constant that is written out
constexpr double kPi = std::numbers::pi;

template <class F>
Value written_out(Builder& b, const Dims& dims, DataType type, F&& element) {
  int64_t count = 1;
  for (const int64_t d : dims) {
    require(0 <= d && d <= kMaxElements, "a constant of {} elements along an axis", d);
    count *= std::max<int64_t>(d, 1);
    require(count <= kMaxElements, "a constant of more than {} elements", kMaxElements);
  }
  HostTensor t(DataType::f64, dims);
  for (size_t i = 0; i < t.as<double>().size(); ++i) t.as<double>()[i] = element(static_cast<int64_t>(i));
  return b.constant(std::make_shared<const HostTensor>(t.to(type)));
}

DataType output_type(OpContext& op) {
  const auto given = static_cast<int32_t>(op.attribute("output_datatype", 1));
  const auto type = data_type_of_onnx(given);
  if (!type) throw Error(ErrorKind::unsupported, "attribute 'output_datatype': type {}", onnx_type_name(given));
  op.set_onnx_type(0, given);
  return *type == DataType::f16 || *type == DataType::bf16 ? DataType::f32 : *type;
}

// HannWindow, HammingWindow, BlackmanWindow-17: a - b cos(2 pi n / N) + c cos(4 pi n / N)
Translation window(double a, double b, double c) {
  return [=](OpContext& op) {
    const int64_t size = op.constant_integer(0);
    const double period = static_cast<double>(op.attribute("periodic", 1) != 0 ? size : size - 1);
    const auto element = [&](int64_t n) {
      const double angle = 2 * kPi * static_cast<double>(n) / period;
      return a - b * std::cos(angle) + c * std::cos(2 * angle);
    };
    return Values{written_out(op.builder(), {size}, output_type(op), element)};
  };
}

// ---- Fourier transforms; complex numbers are pairs along the last axis

int64_t transform_size(const Dim& d) {
  if (!d.is_constant())
    throw Error(ErrorKind::unsupported, "a transform along an axis of the open size {}", to_string(d));
  return d.value();
}

struct Transform {
  int64_t length;  // of the signal: shorter input is padded with zeros, longer cut
  bool inverse = false, one_sided = false;
};

// [2 * length, 2 * outputs], or of real signals half of it: row (n, part) to column (k, part).
Value transform_matrix(Builder& b, const Transform& t, int64_t rows, int64_t row_parts, int64_t columns,
                       int64_t column_parts, DataType type) {
  const auto element = [&](int64_t i) {
    const int64_t column = i % (columns * column_parts), row = i / (columns * column_parts);
    const int64_t k = column / column_parts, n = row / row_parts;
    const double angle = 2 * kPi * static_cast<double>(k * n % t.length) / static_cast<double>(t.length);
    const double sine = t.inverse ? -std::sin(angle) : std::sin(angle);  // e^(-i angle) forwards
    const bool from_imaginary = row % row_parts == 1, to_imaginary = column % column_parts == 1;
    const double value = from_imaginary == to_imaginary ? std::cos(angle) : from_imaginary ? sine : -sine;
    // Of a one-sided spectrum the mirrored half counts too.
    const bool mirrored = t.inverse && t.one_sided && n > 0 && 2 * n != t.length;
    return mirrored ? 2 * value : value;
  };
  return written_out(b, {rows * row_parts, columns * column_parts}, type, element);
}

// x [..., n, parts] -> [..., k, parts of the result]
Value transformed(const Value& x, const Transform& t) {
  const auto axis = static_cast<size_t>(x.rank()) - 2;
  const int64_t parts = transform_size(x.shape().back());
  require(parts == 1 || parts == 2, "the last axis has size {}, expected 1 (real) or 2 (complex)", parts);
  const int64_t half = t.length / 2 + 1;
  const int64_t taken = t.inverse && t.one_sided ? half : t.length;
  const int64_t results = t.one_sided && !t.inverse ? half : t.length;
  const int64_t result_parts = t.inverse && t.one_sided ? 1 : 2;
  const int64_t rows = std::min(transform_size(x.shape()[axis]), taken);
  const Value used = slice(x, static_cast<int>(axis), 0, rows);
  const Value matrix = transform_matrix(x.builder(), t, rows, parts, results, result_parts, x.dtype());
  Shape flat = used.shape(), shape = used.shape();
  flat.pop_back();
  flat.back() = rows * parts;
  shape[axis] = results;
  shape.back() = result_parts;
  const Value rows_of_signal = flat.rank() == 1 ? reshape(used, {1, flat[0]}) : reshape(used, flat);
  const Value y = reshape(matmul(rows_of_signal, matrix), shape);
  return t.inverse ? y * (1.0 / static_cast<double>(t.length)) : y;  // apart: so what cancels does so exactly
}

// DFT-17: the axis is an attribute, counted from the first; -20: an input
Values dft(OpContext& op) {
  const Value x = op.input(0);
  require(x.rank() >= 2, "the input has shape {}, expected at least 2 axes", to_string(x.shape()));
  int64_t given = op.version() < 20 ? op.attribute("axis", 1) : -2;
  if (op.version() >= 20 && op.has_input(2)) given = op.constant_integer(2);
  const int axis = normalise_axis(given, x.rank());
  require(axis < x.rank() - 1, "axis {} holds the parts of complex numbers", axis);
  Transform t{0, op.attribute("inverse", 0) != 0, op.attribute("onesided", 0) != 0};
  const int64_t size = transform_size(x.shape()[static_cast<size_t>(axis)]);
  t.length = op.has_input(1) ? op.constant_integer(1) : t.inverse && t.one_sided ? 2 * (size - 1) : size;
  require(t.length > 0, "a transform of {} samples", t.length);
  std::vector<int> swap;
  for (int i = 0; i < x.rank(); ++i) swap.push_back(i);
  std::swap(swap[static_cast<size_t>(axis)], swap[static_cast<size_t>(x.rank()) - 2]);
  return {transpose(transformed(transpose(x, swap), t), swap)};
}

// STFT-17: frames of the signal, each multiplied with the window and transformed
Values stft(OpContext& op) {
  const Value given = op.input(0);
  const int64_t step = op.constant_integer(1);
  require(step > 0, "a frame step of {}", step);
  require(given.rank() == 2 || given.rank() == 3, "the signal has shape {}", to_string(given.shape()));
  const Shape& s = given.shape();
  const Value x = given.rank() == 2 ? reshape(given, {s[0], s[1], 1}) : given;
  const int64_t size = transform_size(s[1]);
  Transform t{size, false, op.attribute("onesided", 1) != 0};
  if (op.has_input(2)) t.length = transform_size(op.input(2).shape().element_count());
  if (op.has_input(3)) t.length = op.constant_integer(3);
  require(0 < t.length && t.length <= size, "frames of {} samples of a signal of {}", t.length, size);
  const int64_t frames = 1 + (size - t.length) / step;
  const auto position = [&](int64_t i) {
    const int64_t frame = i / t.length;
    return static_cast<double>(frame * step + i % t.length);
  };
  Value framed = gather(x, written_out(op.builder(), {frames, t.length}, DataType::i64, position), 1);
  if (op.has_input(2)) framed = framed * reshape(op.input(2), {t.length, 1});
  return {transformed(framed, t)};
}

}  // namespace

void register_signal(Translator& t);
void register_signal(Translator& t) {
  t.add("HannWindow", {17}, window(0.5, 0.5, 0));
  t.add("HammingWindow", {17}, window(25.0 / 46, 21.0 / 46, 0));
  t.add("BlackmanWindow", {17}, window(0.42, 0.5, 0.08));
  t.add("DFT", {17, 20}, dft);
  t.add("STFT", {17}, stft);
}

}  // namespace arbalest
