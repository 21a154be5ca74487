#include "graph/primitives/movement.h"

#include <algorithm>

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"

namespace arbalest {

namespace {

// Elements start, start + step, ... (count of them) lie inside an axis of the given size, as far as the symbols tell.
void check_slice(size_t axis, const Dim& start, const Dim& count, int64_t step, const Dim& size) {
  require(step != 0, "axis {}: a step of 0", axis);
  if (count == Dim(0)) return;
  const Dim last = start + step * (count - 1);
  for (const Dim& end : {start, last}) {
    const Dim room = size - 1 - end;
    require((!end.is_constant() || end.value() >= 0) && (!room.is_constant() || room.value() >= 0),
            "axis {}: element {} of an axis of {}", axis, to_string(end), to_string(size));
  }
  require(!count.is_constant() || count.value() >= 0, "axis {}: {} elements", axis, to_string(count));
}

void check_slices(const std::vector<Dim>& start, const Dims& step, const Shape& small, const Shape& large) {
  const size_t rank = large.size();
  require(start.size() == rank && step.size() == rank && small.size() == rank,
          "a slice with {} starts, {} steps and {} sizes of a rank-{} tensor", start.size(), step.size(), small.size(),
          rank);
  for (size_t i = 0; i < rank; ++i) check_slice(i, start[i], small[i], step[i], large[i]);
}

}  // namespace

std::vector<TensorType> infer(const Reshape& p, Types in) {
  expect_inputs(in, 1, p.kName);
  const Dim from = in[0].shape.element_count();
  const Dim to = p.shape.element_count();
  require(may_equal(from, to), "cannot reshape {} ({} elements) to {} ({} elements)", to_string(in[0].shape),
          to_string(from), to_string(p.shape), to_string(to));
  for (const Dim& d : p.shape)
    require(!d.is_constant() || d.value() >= 0, "a size of {} in {}", to_string(d), to_string(p.shape));
  return {{in[0].dtype, p.shape}};
}

std::vector<TensorType> infer(const Transpose& p, Types in) {
  expect_inputs(in, 1, p.kName);
  const int rank = in[0].rank();
  std::vector<bool> seen(in[0].shape.size(), false);
  bool valid = p.permutation.size() == seen.size();
  for (const int axis : p.permutation) {
    valid = valid && 0 <= axis && axis < rank && !seen[static_cast<size_t>(axis)];
    if (valid) seen[static_cast<size_t>(axis)] = true;
  }
  require(valid, "permutation [{}] of a rank-{} input", fmt::join(p.permutation, ", "), rank);
  TensorType y{in[0].dtype, {}};
  for (const int axis : p.permutation) y.shape.push_back(in[0].shape[static_cast<size_t>(axis)]);
  return {y};
}

std::vector<TensorType> infer(const Slice& p, Types in) {
  expect_inputs(in, 1, p.kName);
  check_slices(p.start, p.step, p.size, in[0].shape);
  return {{in[0].dtype, p.size}};
}

std::vector<TensorType> infer(const SliceBackward& p, Types in) {
  expect_inputs(in, 1, p.kName);
  check_slices(p.start, p.step, in[0].shape, p.shape);
  return {{in[0].dtype, p.shape}};
}

std::vector<TensorType> infer(const Pad& p, Types in) {
  expect_inputs(in, 1, p.kName);
  const size_t rank = in[0].shape.size();
  require(p.begin.size() == rank && p.end.size() == rank, "{} and {} pads of a rank-{} input", p.begin.size(),
          p.end.size(), rank);
  TensorType y = in[0];
  for (size_t i = 0; i < rank; ++i) {
    for (const Dim& pad : {p.begin[i], p.end[i]}) {
      require(!pad.is_constant() || pad.value() >= 0, "axis {}: a pad of {}", i, to_string(pad));
    }
    y.shape[i] = p.begin[i] + in[0].shape[i] + p.end[i];
  }
  return {y};
}

std::vector<TensorType> infer(const Concat& p, Types in) {
  ensure(!in.empty(), "nothing to concatenate");
  TensorType y = in[0];
  expect_axis(p.axis, y.rank());
  const auto axis = static_cast<size_t>(p.axis);
  for (size_t k = 1; k < in.size(); ++k) {
    require(in[k].dtype == y.dtype && in[k].rank() == y.rank(), "input {} is {}, the first is {}", k, to_string(in[k]),
            to_string(in[0]));
    for (size_t i = 0; i < y.shape.size(); ++i) {
      const Dim& size = in[k].shape[i];
      if (i == axis) {
        y.shape[i] = y.shape[i] + size;
      } else {
        require(may_equal(y.shape[i], size), "input {} has shape {}, the first {}; they may differ along axis {} only",
                k, to_string(in[k].shape), to_string(in[0].shape), axis);
        y.shape[i] = more_known(y.shape[i], size);
      }
    }
  }
  return {y};
}

std::vector<TensorType> infer(const Expand& p, Types in) {
  expect_inputs(in, 1, p.kName);
  const Shape shape = broadcast(in[0].shape, p.shape);
  require(shape == p.shape, "{} cannot be expanded to {}", to_string(in[0].shape), to_string(p.shape));
  return {{in[0].dtype, p.shape}};
}

Values gradient(const Reshape&, GradientContext& g) { return {reshape(g.output_gradient(0), g.input(0).shape())}; }

Values gradient(const Transpose& p, GradientContext& g) {
  std::vector<int> inverse(p.permutation.size());
  for (size_t i = 0; i < inverse.size(); ++i) inverse[static_cast<size_t>(p.permutation[i])] = static_cast<int>(i);
  return {transpose(g.output_gradient(0), inverse)};
}

Values gradient(const Slice& p, GradientContext& g) {
  return {g.emit_one(SliceBackward{p.start, g.input(0).shape(), p.step}, {g.output_gradient(0)})};
}

Values gradient(const SliceBackward& p, GradientContext& g) {
  return {g.emit_one(Slice{p.start, g.input(0).shape(), p.step}, {g.output_gradient(0)})};
}

Values gradient(const Pad& p, GradientContext& g) {
  const Shape shape = g.input(0).shape();
  return {g.emit_one(Slice{p.begin, shape, Dims(shape.size(), 1)}, {g.output_gradient(0)})};
}

Values gradient(const Concat& p, GradientContext& g) {
  Values result;
  Dim start;
  for (int i = 0; i < g.input_count(); ++i) {
    const Dim size = g.input(i).shape()[static_cast<size_t>(p.axis)];
    result.push_back(g.needs(i) ? slice(g.output_gradient(0), p.axis, start, size) : Value());
    start = start + size;
  }
  return result;
}

// differentiate() sums over the axes along which the input was repeated.
Values gradient(const Expand&, GradientContext& g) { return {g.output_gradient(0)}; }

}  // namespace arbalest
