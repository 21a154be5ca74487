#include "graph/primitives/gather.h"

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"
#include "graph/primitives/scatter.h"

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

std::vector<TensorType> infer(const LinearIndex& p, Types in) {
  expect_inputs(in, 1, p.kName);
  expect_index(in[0], "the index tensor");
  require(in[0].rank() >= 1, "the index tensor is a scalar, expected coordinates in its last axis");
  Shape shape = in[0].shape;
  require(may_equal(shape.back(), Dim(p.dims.rank())), "{} coordinates of an element of {}", to_string(shape.back()),
          to_string(p.dims));
  shape.pop_back();
  return {{DataType::i64, shape}};
}

Values gradient(const Gather& p, GradientContext& g) {
  const Dim size = g.input(0).shape()[static_cast<size_t>(p.axis)];
  const Scatter sum{p.axis, ScatterReduction::add, /*onto_zeros=*/true, size};
  return {g.emit_one(sum, {g.input(1), g.output_gradient(0)})};
}

}  // namespace arbalest
