// Operators that read or write elements whose places the data give: by Gather and Scatter along flattened axes.
#include <algorithm>
#include <numeric>

#include "graph/base/error.h"
#include "graph/element_index.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

Dim size_of_axes(const Shape& shape, size_t begin, size_t end) {
  Dim result(1);
  for (size_t i = begin; i < end; ++i) result = result * shape[i];
  return result;
}

// GatherElements-11, 13
Values gather_elements_node(OpContext& op) {
  const Value data = op.input(0);
  return {gather_elements(data, op.input(1), normalise_axis(op.attribute("axis", 0), data.rank()))};
}

ScatterReduction scatter_reduction(OpContext& op) {
  if (op.version() < 16) return ScatterReduction::set;
  const std::string name = op.attribute("reduction", "none");
  if (name == "none") return ScatterReduction::set;
  if (name == "add") return ScatterReduction::add;
  if (name == "mul") return ScatterReduction::mul;
  require(op.version() >= 18 && (name == "max" || name == "min"), "attribute 'reduction' is '{}', expected {}", name,
          op.version() >= 18 ? "none, add, mul, max or min" : "none, add or mul");
  return name == "max" ? ScatterReduction::max : ScatterReduction::min;
}

// Scatter-9, 11; ScatterElements-11, 13, 16, 18
Values scatter_elements_node(OpContext& op) {
  const Value data = op.input(0);
  const int axis = normalise_axis(op.attribute("axis", 0), data.rank());
  return {scatter_elements(scatter_reduction(op), data, axis, op.input(1), op.input(2))};
}

// The coordinates in the last axis of indices, of the axes of data from `first` on, as positions in these axes
// flattened.
Value positions_of(const Value& indices, const Shape& data, size_t first) {
  require(indices.rank() >= 1, "the indices are a scalar, expected coordinates in their last axis");
  const Dim& count = indices.shape().back();
  require(count.is_constant() && count.value() <= std::ssize(data) - static_cast<int64_t>(first),
          "the indices have shape {}: {} coordinates of a tensor of shape {}", to_string(indices.shape()),
          to_string(count), to_string(data));
  LinearIndex p;
  p.dims.assign(data.begin() + static_cast<int64_t>(first), data.begin() + static_cast<int64_t>(first) + count.value());
  return indices.builder().emit_one(std::move(p), {indices});
}

// GatherND-11; -12, 13: batch_dims leading axes are those of both inputs
Values gather_nd(OpContext& op) {
  const Value data = op.input(0), indices = op.input(1);
  const int64_t given = op.version() >= 12 ? op.attribute("batch_dims", 0) : 0;
  require(0 <= given && given < std::min(data.rank(), indices.rank()),
          "attribute 'batch_dims' is {}, ranks are {} and {}", given, data.rank(), indices.rank());
  const auto batch_dims = static_cast<size_t>(given);
  const Shape& from = data.shape();
  for (size_t i = 0; i < batch_dims; ++i) {
    require(!from[i].is_constant() || !indices.shape()[i].is_constant() || from[i] == indices.shape()[i],
            "batch axis {} has size {} in the data, {} in the indices", i, to_string(from[i]),
            to_string(indices.shape()[i]));
  }
  Value positions = positions_of(indices, from, batch_dims);
  const auto end = batch_dims + static_cast<size_t>(indices.shape().back().value());
  const Dim batches = size_of_axes(from, 0, batch_dims), size = size_of_axes(from, batch_dims, end);
  if (!(batches == Dim(1))) {
    Shape batch_shape = positions.shape();
    std::fill(batch_shape.begin() + given, batch_shape.end(), Dim(1));
    const Value first = iota(op.builder(), batches) * op.builder().integers({size}, {});
    positions = positions + reshape(first, batch_shape);
  }
  Shape rows{batches * size};
  rows.insert(rows.end(), from.begin() + static_cast<int64_t>(end), from.end());
  return {gather(reshape(data, rows), positions, 0)};
}

// ScatterND-11, 13, 16, 18
Values scatter_nd(OpContext& op) {
  const Value data = op.input(0), indices = op.input(1);
  const Value positions = positions_of(indices, data.shape(), 0);
  const auto end = static_cast<size_t>(indices.shape().back().value());
  Shape rows{size_of_axes(data.shape(), 0, end)};
  rows.insert(rows.end(), data.shape().begin() + static_cast<int64_t>(end), data.shape().end());
  const Scatter scatter{0, scatter_reduction(op), false, Dim(0)};
  return {reshape(op.builder().emit_one(scatter, {reshape(data, rows), positions, op.input(2)}), data.shape())};
}

// ReverseSequence-10, 28: the first sequence_lens[b] elements of each sequence, the others stay. Data are seen as rows
// of the two leading axes.
Values reverse_sequence(OpContext& op) {
  const Value x = op.input(0), lengths = cast(op.input(1), DataType::i64);
  const int64_t time = op.attribute("time_axis", 0), batch = op.attribute("batch_axis", 1);
  require(std::min(time, batch) == 0 && std::max(time, batch) == 1,
          "attributes 'time_axis' and 'batch_axis' are {} and {}, expected 0 and 1 or 1 and 0", time, batch);
  require(x.rank() >= 2, "the input has rank {}, expected at least 2", x.rank());
  const Dim steps = x.shape()[static_cast<size_t>(time)], sequences = x.shape()[static_cast<size_t>(batch)];
  require(lengths.rank() == 1 && (lengths.shape()[0] == sequences || !(lengths.shape()[0] - sequences).is_constant()),
          "sequence_lens has shape {}, expected {}", to_string(lengths.shape()), to_string(sequences));
  const Value t = position_numbers(op.builder(), steps, static_cast<int>(time), 2);
  const Dim& given = lengths.shape()[0];
  const Value length = reshape(lengths, batch == 0 ? Shape{given, 1} : Shape{1, given});
  // A length out of range gives an index out of range.
  const auto reversed = [](Scalar i, Scalar n, Scalar size) {
    return select(n < 0, n - size, select(i < n, n - i - 1, i));
  };
  const Value from = map(reversed, t, length, op.builder().integers({steps}, {}));
  const Value checked =
      op.builder().emit_one(LinearIndex{{steps}}, {reshape(from, {from.shape()[0], from.shape()[1], 1})});
  const auto row = [time](Scalar p, Scalar b, Scalar stride) { return time == 0 ? p * stride + b : b * stride + p; };
  const Value positions = map(row, checked, position_numbers(op.builder(), sequences, static_cast<int>(batch), 2),
                              op.builder().integers({time == 0 ? sequences : steps}, {}));
  Shape rows{steps * sequences};
  rows.insert(rows.end(), x.shape().begin() + 2, x.shape().end());
  return {gather(reshape(x, rows), positions, 0)};
}

// MaxUnpool-9, 11, 22: each element goes where its index in the whole output tells, the rest is zero. A given
// output_shape adds zeros at the ends.
Values max_unpool(OpContext& op) {
  const Value x = op.input(0), indices = op.input(1);
  require(x.rank() >= 3, "the input has rank {}, expected at least 3", x.rank());
  const auto n = x.shape().size() - 2;
  const std::vector<int64_t> kernel = op.required_integers("kernel_shape");
  const auto strides = op.attribute("strides", std::vector<int64_t>(n, 1));
  const auto pads = op.attribute("pads", std::vector<int64_t>(2 * n, 0));
  require(kernel.size() == n && strides.size() == n && pads.size() == 2 * n,
          "kernel_shape, strides and pads have {}, {} and {} entries for {} spatial axes", kernel.size(),
          strides.size(), pads.size(), n);
  Shape shape = x.shape();
  for (size_t i = 0; i < n; ++i) {
    require(strides[i] >= 1 && kernel[i] >= 1,
            "spatial axis {}: a stride of {} and a kernel of {}, expected at least 1", i, strides[i], kernel[i]);
    shape[i + 2] = (shape[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[i + n];
  }
  const Scatter scatter{0, ScatterReduction::set, /*onto_zeros=*/true, shape.element_count()};
  const Value y = reshape(op.builder().emit_one(scatter, {indices, x}), shape);
  if (!op.has_input(2)) return {y};
  const std::vector<Dim> given = op.contents(2);
  require(given.size() == shape.size(), "output_shape has {} entries, expected {}", given.size(), shape.size());
  Pad pad{std::vector<Dim>(shape.size(), Dim(0)), {}, 0};
  for (size_t i = 0; i < shape.size(); ++i) pad.end.push_back(given[i] - shape[i]);
  return op.builder().emit(std::move(pad), {y});
}

}  // namespace

void register_elements(Translator& t);
void register_elements(Translator& t) {
  t.add("GatherElements", {11, 13}, gather_elements_node);
  t.add("GatherND", {11, 12, 13}, gather_nd);
  t.add("Scatter", {9, 11}, scatter_elements_node);
  t.add("ScatterElements", {11, 13, 16, 18}, scatter_elements_node);
  t.add("ScatterND", {11, 13, 16, 18}, scatter_nd);
  t.add("ReverseSequence", {10, 28}, reverse_sequence);
  t.add("MaxUnpool", {9, 11, 22}, max_unpool);
}

}  // namespace arbalest
