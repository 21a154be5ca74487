#include "graph/primitives/softmax.h"

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"

namespace arbalest {

std::vector<TensorType> infer(const Softmax& p, Types in) {
  expect_inputs(in, 1, p.kName);
  expect_float(in[0], "the input");
  expect_axis(p.axis, in[0].rank());
  return {in[0]};
}

std::vector<TensorType> infer(const SoftmaxBackward& p, Types in) {
  expect_inputs(in, 2, p.kName);
  expect_float(in[0], "the output");
  expect_axis(p.axis, in[0].rank());
  expect_dtype(in[1], in[0].dtype, "the output's gradient");
  expect_shape(in[1].shape, in[0].shape, "the output's gradient");
  return {in[0]};
}

Values gradient(const Softmax& p, GradientContext& g) {
  return {g.emit_one(SoftmaxBackward{p.axis, p.log}, {g.output(0), g.output_gradient(0)})};
}

}  // namespace arbalest
