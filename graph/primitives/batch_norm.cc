#include "graph/primitives/batch_norm.h"

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"

namespace arbalest {

namespace {

void check_per_channel(const TensorType& x, const TensorType& per_channel, const char* what) {
  expect_dtype(per_channel, x.dtype, what);
  expect_shape(per_channel.shape, {x.shape[1]}, what);
}

void check_input(const TensorType& x) {
  expect_float(x, "the input");
  require(x.rank() >= 2, "the input has rank {} ({}), expected at least 2: batch and channels", x.rank(),
          to_string(x.shape));
}

}  // namespace

std::vector<TensorType> infer(const BatchNorm& p, Types in) {
  expect_inputs(in, 3, p.kName);
  check_input(in[0]);
  check_per_channel(in[0], in[1], "the scale");
  check_per_channel(in[0], in[2], "the bias");
  const TensorType statistic{in[0].dtype, {in[0].shape[1]}};
  return {in[0], statistic, statistic};
}

std::vector<TensorType> infer(const BatchNormBackward& p, Types in) {
  expect_inputs(in, 5, p.kName);
  check_input(in[0]);
  expect_dtype(in[1], in[0].dtype, "the output's gradient");
  expect_shape(in[1].shape, in[0].shape, "the output's gradient");
  check_per_channel(in[0], in[2], "the mean");
  check_per_channel(in[0], in[3], "the variance");
  check_per_channel(in[0], in[4], "the scale");
  const TensorType per_channel{in[0].dtype, {in[0].shape[1]}};
  return {in[0], per_channel, per_channel};
}

Values gradient(const BatchNorm& p, GradientContext& g) {
  if (g.has_output_gradient(1) || g.has_output_gradient(2)) {
    throw Error(ErrorKind::unsupported, "the mean and the variance of the batch have no gradient of their own");
  }
  return g.emit(BatchNormBackward{p.epsilon}, {g.input(0), g.output_gradient(0), g.output(1), g.output(2), g.input(1)});
}

}  // namespace arbalest
