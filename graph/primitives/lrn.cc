#include "graph/primitives/lrn.h"

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"

namespace arbalest {

namespace {

template <class P>
void check_lrn(const P& p, const TensorType& x) {
  expect_float(x, "the input");
  require(x.rank() >= 2, "the input has rank {} ({}), expected at least 2: batch and channels", x.rank(),
          to_string(x.shape));
  require(p.size >= 1, "size {}, expected at least 1", p.size);
}

}  // namespace

std::vector<TensorType> infer(const Lrn& p, Types in) {
  expect_inputs(in, 1, p.kName);
  check_lrn(p, in[0]);
  return {in[0]};
}

std::vector<TensorType> infer(const LrnBackward& p, Types in) {
  expect_inputs(in, 2, p.kName);
  check_lrn(p, in[0]);
  expect_dtype(in[1], in[0].dtype, "the output's gradient");
  expect_shape(in[1].shape, in[0].shape, "the output's gradient");
  return {in[0]};
}

Values gradient(const Lrn& p, GradientContext& g) {
  return {g.emit_one(LrnBackward{p.size, p.alpha, p.beta, p.bias}, {g.input(0), g.output_gradient(0)})};
}

}  // namespace arbalest
