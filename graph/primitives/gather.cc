#include "graph/primitives/gather.h"

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"

namespace arbalest {

std::vector<TensorType> infer(const Gather& p, Types in) {
  expect_inputs(in, 2, p.kName);
  expect_axis(p.axis, in[0].rank());
  expect_index(in[1], "the index tensor");
  Shape shape = in[0].shape;
  shape.erase(shape.begin() + p.axis);
  shape.insert(shape.begin() + p.axis, in[1].shape.begin(), in[1].shape.end());
  return {{in[0].dtype, shape}};
}

std::vector<TensorType> infer(const GatherBackward& p, Types in) {
  expect_inputs(in, 2, p.kName);
  expect_float(in[0], "the output's gradient");
  expect_index(in[1], "the index tensor");
  const Shape &dy = in[0].shape, &indices = in[1].shape;
  require(0 <= p.axis && p.axis + indices.rank() <= dy.rank(), "axis {} and {} axes of indices of a rank-{} gradient",
          p.axis, indices.rank(), dy.rank());
  Shape replaced;
  replaced.assign(dy.begin() + p.axis, dy.begin() + p.axis + indices.rank());
  expect_shape(replaced, indices, "the output's gradient, along the indices,");
  Shape shape = dy;
  shape.erase(shape.begin() + p.axis, shape.begin() + p.axis + indices.rank());
  shape.insert(shape.begin() + p.axis, p.size);
  return {{in[0].dtype, shape}};
}

Values gradient(const Gather& p, GradientContext& g) {
  const Dim size = g.input(0).shape()[static_cast<size_t>(p.axis)];
  return {g.emit_one(GatherBackward{p.axis, size}, {g.output_gradient(0), g.input(1)})};
}

Values gradient(const GatherBackward& p, GradientContext& g) {
  return {g.emit_one(Gather{p.axis}, {g.output_gradient(0), g.input(1)})};
}

}  // namespace arbalest
