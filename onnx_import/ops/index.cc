// Operators that pick, cut out, pad or mark elements by their position.
#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/base/error.h"
#include "graph/contents.h"
#include "graph/element_index.h"
#include "onnx_import/data_type.h"
#include "onnx_import/host_functions.h"
#include "onnx_import/host_results.h"
#include "onnx_import/known_number.h"

namespace arbalest {
namespace {

Value index_tensor(Builder& builder, const std::vector<int64_t>& indices) {
  HostTensor t(DataType::i64, {static_cast<int64_t>(indices.size())});
  std::copy(indices.begin(), indices.end(), t.as<int64_t>().begin());
  return builder.constant(std::make_shared<const HostTensor>(std::move(t)));
}

// The entry of an axis that a scalar index names, where both are known at import.
std::optional<int64_t> known_entry(const Value& index, const Dim& size) {
  const auto& contents = index.builder().graph().at(index.id()).contents;
  const bool is_index = index.rank() == 0 && (index.dtype() == DataType::i32 || index.dtype() == DataType::i64);
  if (!is_index || !contents || !contents->front().is_constant() || !size.is_constant()) return std::nullopt;
  const int64_t i = contents->front().value();
  if (i < -size.value() || i >= size.value()) return std::nullopt;  // an error when it runs
  return i < 0 ? i + size.value() : i;
}

// Gather-1, 11, 13. A known entry is a slice: where the trips of a loop take one each, their gradients are joined.
Values gather_node(OpContext& op) {
  const Value data = op.input(0);
  const int axis = normalise_axis(op.attribute("axis", 0), data.rank());
  const auto entry = known_entry(op.input(1), data.shape()[static_cast<size_t>(axis)]);
  if (!entry) return {gather(data, op.input(1), axis)};
  Shape shape = data.shape();
  shape.erase(shape.begin() + axis);
  return {reshape(slice(data, axis, *entry, 1), shape)};
}

// ---- Slice

// The part of one axis. Bounds of a known axis are clamped as NumPy does; of an open one a bound beyond any size means
// its end, any other lies inside it.
struct Range {
  Dim start, count;
};

bool is_beyond(const Dim& d) { return d.is_constant() && d.value() > std::numeric_limits<int32_t>::max() / 2; }
bool is_far_before(const Dim& d) { return d.is_constant() && d.value() < std::numeric_limits<int32_t>::min() / 2; }

Dim from_end(const Dim& bound, const Dim& size) {
  return bound.is_constant() && bound.value() < 0 && !is_far_before(bound) ? bound + size : bound;
}

Dim clamped(const Dim& bound, const Dim& size, int64_t lowest, const Dim& highest) {
  const Dim b = from_end(bound, size);
  if (is_far_before(b)) return lowest;
  if (is_beyond(b)) return highest;
  if (!b.is_constant() || !highest.is_constant()) {
    const Dim room = highest - b;
    return room.is_constant() && room.value() < 0 ? highest : b;
  }
  return std::clamp(b.value(), std::min(lowest, highest.value()), highest.value());
}

Range range_of(const Dim& start, const Dim& end, int64_t step, const Dim& size) {
  require(step != 0, "a step of 0");
  const bool forward = step > 0;
  const Dim last = size - 1;
  const Dim first = forward ? clamped(start, size, 0, size) : clamped(start, size, 0, last);
  const Dim stop = forward ? clamped(end, size, 0, size) : clamped(end, size, -1, last);
  const Dim length = forward ? stop - first : first - stop;
  const Dim count = ceil_div(length, forward ? step : -step);
  if (count.is_constant() && count.value() <= 0) return {0, 0};
  return {first, count};
}

struct SliceRequest {
  std::vector<Dim> starts, ends;
  std::vector<int64_t> axes, steps;
};

// Slice-1: attributes; Slice-10, 11, 13: inputs
SliceRequest slice_request(OpContext& op) {
  SliceRequest r;
  if (op.version() < 10) {
    for (const int64_t s : op.required_integers("starts")) r.starts.emplace_back(s);
    for (const int64_t e : op.required_integers("ends")) r.ends.emplace_back(e);
    if (op.has_attribute("axes")) r.axes = op.required_integers("axes");
  } else {
    r.starts = op.contents(1);
    r.ends = op.contents(2);
    if (op.has_input(3)) r.axes = op.constant_integers(3);
    if (op.has_input(4)) r.steps = op.constant_integers(4);
  }
  if (r.axes.empty()) {
    r.axes.resize(r.starts.size());
    std::iota(r.axes.begin(), r.axes.end(), 0);
  }
  if (r.steps.empty()) r.steps.assign(r.starts.size(), 1);
  require(r.ends.size() == r.starts.size() && r.axes.size() == r.starts.size() && r.steps.size() == r.starts.size(),
          "{} starts, {} ends, {} axes and {} steps", r.starts.size(), r.ends.size(), r.axes.size(), r.steps.size());
  return r;
}

Values slice_node(OpContext& op) {
  const Value x = op.input(0);
  const SliceRequest r = slice_request(op);
  Slice p{std::vector<Dim>(x.shape().size(), Dim(0)), x.shape(), Dims(x.shape().size(), 1)};
  std::vector<bool> seen(x.shape().size(), false);
  for (size_t k = 0; k < r.starts.size(); ++k) {
    const auto i = static_cast<size_t>(normalise_axis(r.axes[k], x.rank()));
    require(!seen[i], "axis {} is named twice", i);
    seen[i] = true;
    const Range range = range_of(r.starts[k], r.ends[k], r.steps[k], x.shape()[i]);
    p.start[i] = range.start;
    p.size[i] = range.count;
    p.step[i] = r.steps[k];
  }
  return op.builder().emit(std::move(p), {x});
}

// ---- Split-1, 2, 11: sizes are an attribute; -13, 18: an input, or num_outputs equal parts, the last one smaller

std::vector<Dim> split_sizes(OpContext& op, const Dim& size) {
  const auto given = op.integers_attribute_or_input("split", 1, 13);
  const int64_t count = op.version() >= 18 ? op.attribute("num_outputs", op.output_count()) : op.output_count();
  if (given) {
    require(static_cast<int>(given->size()) == op.output_count(), "{} sizes for {} outputs", given->size(),
            op.output_count());
    const auto sum = std::accumulate(given->begin(), given->end(), int64_t{0});
    require(!size.is_constant() || size == Dim(sum), "sizes [{}] of an axis of {}", fmt::join(*given, ", "),
            to_string(size));
    return {given->begin(), given->end()};
  }
  require(count == op.output_count() && count > 0, "attribute 'num_outputs' is {}, the node has {} outputs", count,
          op.output_count());
  const Dim part = ceil_div(size, count);
  std::vector<Dim> sizes(static_cast<size_t>(count), part);
  sizes.back() = size - part * (count - 1);
  require(op.version() >= 18 || sizes.back() == part, "an axis of {} cannot be split into {} equal parts",
          to_string(size), count);
  return sizes;
}

Values split(OpContext& op) {
  const Value x = op.input(0);
  const int axis = normalise_axis(op.attribute("axis", 0), x.rank());
  Values parts;
  Dim start(0);
  for (const Dim& size : split_sizes(op, x.shape()[static_cast<size_t>(axis)])) {
    parts.push_back(slice(x, axis, start, size));
    start = start + size;
  }
  return parts;
}

// ---- Pad

struct PadRequest {
  std::vector<Dim> begin, end;  // an entry an axis
  double value = 0;
  std::string mode;
};

// Pad-1, 2: attributes; Pad-11, 13: inputs; -18, 19, 21, ..., 25: of the axes named by input 3
PadRequest pad_request(OpContext& op, int rank) {
  const auto n = static_cast<size_t>(rank);
  PadRequest r{std::vector<Dim>(n, Dim(0)), std::vector<Dim>(n, Dim(0)), 0, op.attribute("mode", "constant")};
  std::vector<Dim> pads;
  if (op.version() < 11) {
    const std::string name = op.version() == 1 ? "paddings" : "pads";
    for (const int64_t p : op.required_integers(name)) pads.emplace_back(p);
    r.value = op.attribute("value", 0.0f);
  } else {
    pads = op.contents(1);
    if (op.has_input(2)) {
      const auto value = op.constant_number(2);
      if (!value && r.mode == "constant") throw Error(ErrorKind::unsupported, "the padding value is computed");
      r.value = value.value_or(0);
    }
  }
  std::vector<int64_t> axes(n);
  std::iota(axes.begin(), axes.end(), 0);
  if (op.version() >= 18 && op.has_input(3)) axes = op.constant_integers(3);
  require(pads.size() == 2 * axes.size(), "{} pads for {} axes", pads.size(), axes.size());
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto i = static_cast<size_t>(normalise_axis(axes[k], rank));
    r.begin[i] = pads[k];
    r.end[i] = pads[k + axes.size()];
  }
  return r;
}

// Where each element of the padded axis comes from.
std::vector<int64_t> padded_positions(const std::string& mode, int64_t size, int64_t begin, int64_t end) {
  require(size > 0, "mode '{}' of an empty axis", mode);
  const Dim padded = Dim(size) + begin + end;  // the sum may not fit
  require(padded.value() <= kMaxRangeElements, "mode '{}': an axis of {} elements, at most {} can be listed", mode,
          padded.value(), kMaxRangeElements);
  std::vector<int64_t> from;
  for (int64_t i = -begin; i < size + end; ++i) {
    if (mode == "edge") {
      from.push_back(std::clamp<int64_t>(i, 0, size - 1));
    } else if (mode == "wrap") {
      from.push_back(((i % size) + size) % size);
    } else {  // reflect: without the element at the edge
      const int64_t period = std::max<int64_t>(2 * size - 2, 1);
      const int64_t p = ((i % period) + period) % period;
      from.push_back(p < size ? p : period - p);
    }
  }
  return from;
}

// Negative pads cut elements off.
Value cut_negative(const Value& x, PadRequest& r) {
  Value y = x;
  for (size_t i = 0; i < r.begin.size(); ++i) {
    const auto removed = [](Dim& pad) {
      if (!pad.is_constant() || pad.value() >= 0) return Dim(0);
      return -std::exchange(pad, Dim(0));
    };
    const Dim before = removed(r.begin[i]), after = removed(r.end[i]);
    y = slice(y, static_cast<int>(i), before, y.shape()[i] - before - after);
  }
  return y;
}

Values pad(OpContext& op) {
  PadRequest r = pad_request(op, op.input(0).rank());
  require(r.mode == "constant" || r.mode == "reflect" || r.mode == "edge" || r.mode == "wrap",
          "attribute 'mode' is '{}', expected constant, reflect, edge or wrap", r.mode);
  Value x = cut_negative(op.input(0), r);
  const auto is_zero = [](const Dim& d) { return d == Dim(0); };
  if (std::all_of(r.begin.begin(), r.begin.end(), is_zero) && std::all_of(r.end.begin(), r.end.end(), is_zero))
    return {x};
  if (r.mode == "constant") return op.builder().emit(Pad{r.begin, r.end, r.value}, {x});
  for (size_t i = 0; i < r.begin.size(); ++i) {
    if (is_zero(r.begin[i]) && is_zero(r.end[i])) continue;
    if (!x.shape()[i].is_constant() || !r.begin[i].is_constant() || !r.end[i].is_constant()) {
      throw Error(ErrorKind::unsupported, "mode '{}' of an axis of the open size {}", r.mode, to_string(x.shape()[i]));
    }
    const auto from = padded_positions(r.mode, x.shape()[i].value(), r.begin[i].value(), r.end[i].value());
    x = gather(x, index_tensor(op.builder(), from), static_cast<int>(i));
  }
  return {x};
}

// ---- positions compared

// OneHot-9, 11, 28: a negative index counts from the end
Values one_hot(OpContext& op) {
  const Value indices = cast(op.input(0), DataType::i64);
  const std::vector<Dim> depth = op.contents(1);
  require(depth.size() == 1 && (!depth[0].is_constant() || depth[0].value() >= 0),
          "the depth has {} elements, expected one size", depth.size());
  const Value values = op.input(2);
  require(values.rank() == 1 && values.shape()[0] == Dim(2), "the values have shape {}, expected 2",
          to_string(values.shape()));
  const int axis = normalise_axis(op.attribute("axis", -1), indices.rank() + 1);
  Shape with_axis = indices.shape();
  with_axis.insert(with_axis.begin() + axis, Dim(1));
  const Value number = position_numbers(op.builder(), depth[0], axis, indices.rank() + 1);
  const Value off = reshape(slice(values, 0, 0, 1), {}), on = reshape(slice(values, 0, 1, 1), {});
  const auto f = [](Scalar i, Scalar n, Scalar size, Scalar yes, Scalar no) {
    return select(equal(select(i < 0, i + size, i), n), yes, no);
  };
  return {map(f, reshape(indices, with_axis), number, op.builder().integers({depth[0]}, {}), on, off)};
}

// Trilu-14: elements on one side of the k-th diagonal of the last two axes
Values trilu(OpContext& op) {
  const Value x = op.input(0);
  require(x.rank() >= 2, "the input has rank {}, expected at least 2", x.rank());
  const int64_t k = op.has_input(1) ? op.constant_integer(1) : 0;
  const bool upper = op.attribute("upper", 1) != 0;
  const Value row = position_numbers(op.builder(), x.shape()[x.shape().size() - 2], 0, 2);
  const Value column = position_numbers(op.builder(), x.shape().back(), 1, 2);
  const auto f = [&](Scalar e, Scalar r, Scalar c) {
    const Scalar diagonal = r + Scalar::constant(k, DataType::i64);
    const Scalar zero = cast(Scalar::constant(int64_t{0}, DataType::i64), e.type());
    return select(upper ? diagonal <= c : c <= diagonal, e, zero);
  };
  return {map(f, x, row, column)};
}

// EyeLike-9, 22
Values eye_like(OpContext& op) {
  const Value x = op.input(0);
  require(x.rank() == 2, "the input has rank {}, expected 2", x.rank());
  const int64_t k = op.attribute("k", 0);
  DataType type = x.dtype();
  if (op.has_attribute("dtype")) {
    const auto given = data_type_of_onnx(static_cast<int32_t>(op.attribute("dtype", 0)));
    if (!given) throw Error(ErrorKind::unsupported, "attribute 'dtype'");
    type = *given == DataType::f16 || *given == DataType::bf16 ? DataType::f32 : *given;
  }
  const Value row = position_numbers(op.builder(), x.shape()[0], 0, 2),
              column = position_numbers(op.builder(), x.shape()[1], 1, 2);
  const auto f = [&](Scalar r, Scalar c) { return cast(equal(r + Scalar::constant(k, DataType::i64), c), type); };
  return {map(f, row, column)};
}

// A range whose bounds the data give: of a count that only they tell.
Value computed_range(OpContext& op) {
  const Values bounds{op.input(0), op.input(1), op.input(2)};
  const auto function = [](const std::vector<HostTensor>& s) { return std::vector{range_positions(s[0], s[1], s[2])}; };
  const auto types = [](const Dim& count) { return std::vector<TensorType>{{DataType::i64, Shape{count}}}; };
  const Value position = host_results(op, {"Range", bounds, function, types})[0];
  return cast(position, bounds[0].dtype()) * reshape(bounds[2], {}) + reshape(bounds[0], {});
}

// Range-11, 27: of constants, of integers that depend on sizes, or of numbers that the data give
Values range(OpContext& op) {
  const DataType type = op.input(0).dtype();
  const auto has_contents = [&](int i) { return op.builder().graph().at(op.input(i).id()).contents.has_value(); };
  if (!is_float(type) && has_contents(0) && has_contents(1) && has_contents(2)) {
    const std::vector<Dim> start = op.contents(0), limit = op.contents(1);
    const std::vector<int64_t> step = op.constant_integers(2);
    require(start.size() == 1 && limit.size() == 1 && step.size() == 1, "start, limit and delta must be scalars");
    require(step[0] != 0, "delta is 0");
    const Dim count = ceil_div(limit[0] - start[0], step[0]);
    if (!count.is_constant() || count.value() > kMaxContents) {
      const Value first = op.builder().integers({start[0]}, {}), delta = op.builder().integers({step[0]}, {});
      return {cast(iota(op.builder(), count) * delta + first, type)};
    }
    std::vector<Dim> numbers;
    for (int64_t i = 0; i < count.value(); ++i) numbers.push_back(start[0] + i * step[0]);
    return {op.builder().integers(numbers, {Dim(static_cast<int64_t>(numbers.size()))}, type)};
  }
  const auto start = known_number(op.input(0)), limit = known_number(op.input(1)), step = known_number(op.input(2));
  if (!start || !limit || !step) return {computed_range(op)};
  require(*step != 0, "delta is 0");
  const double count = std::ceil((*limit - *start) / *step);
  require(count <= static_cast<double>(kMaxRangeElements), "a range of {} elements", count);
  HostTensor t(DataType::f64, {std::max<int64_t>(static_cast<int64_t>(count), 0)});
  for (size_t i = 0; i < t.as<double>().size(); ++i) t.as<double>()[i] = *start + static_cast<double>(i) * *step;
  return {op.builder().constant(std::make_shared<const HostTensor>(t.to(type)))};
}

}  // namespace

void register_index(Translator& t);
void register_index(Translator& t) {
  t.add("Gather", {1, 11, 13}, gather_node);
  t.add("Slice", {1, 10, 11, 13}, slice_node);
  t.add("Split", {2, 11, 13, 18}, split);
  t.add("Pad", {1, 2, 11, 13, 18, 19, 21, 23, 24, 25}, pad);
  t.add("OneHot", {9, 11, 28}, one_hot);
  t.add("Trilu", {14}, trilu);
  t.add("EyeLike", {9, 22}, eye_like);
  t.add("Range", {11, 27}, range);
}

}  // namespace arbalest
