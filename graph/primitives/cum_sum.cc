#include "graph/primitives/cum_sum.h"

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"

namespace arbalest {

std::vector<TensorType> infer(const CumSum& p, Types in) {
  expect_inputs(in, 1, p.kName);
  expect_axis(p.axis, in[0].rank());
  require(in[0].dtype != DataType::boolean, "the input is {}, expected numbers", to_string(in[0]));
  return {in[0]};
}

Values gradient(const CumSum& p, GradientContext& g) {
  return {g.emit_one(CumSum{p.axis, p.exclusive, !p.reverse}, {g.output_gradient(0)})};
}

}  // namespace arbalest
