#include "graph/primitives/reduce.h"

#include "graph/primitives/checks.h"

namespace arbalest {

std::vector<TensorType> infer(const Reduce& p, Types in) {
  expect_inputs(in, 1, p.kName);
  require(in[0].dtype != DataType::boolean, "the input is {}, expected numbers", to_string(in[0]));
  TensorType y{in[0].dtype, {}};
  size_t next = 0;
  for (int i = 0; i < in[0].rank(); ++i) {
    const bool reduced = next < p.axes.size() && p.axes[next] == i;
    next += reduced;
    if (reduced && p.keep) y.shape.push_back(1);
    if (!reduced) y.shape.push_back(in[0].shape[static_cast<size_t>(i)]);
  }
  require(next == p.axes.size(), "axes [{}] of a rank-{} input", fmt::join(p.axes, ", "), in[0].rank());
  return {y};
}

std::vector<TensorType> infer(const ArgReduce& p, Types in) {
  expect_inputs(in, 1, p.kName);
  ensure(p.kind == Reduction::max || p.kind == Reduction::min, "an index of neither maximum nor minimum");
  require(in[0].dtype != DataType::boolean, "the input is {}, expected numbers", to_string(in[0]));
  expect_axis(p.axis, in[0].rank());
  const Dim& size = in[0].shape[static_cast<size_t>(p.axis)];
  require(!(size == Dim(0)), "axis {} of {} is empty: it has no maximum or minimum", p.axis, to_string(in[0].shape));
  Shape shape = in[0].shape;
  if (p.keep) {
    shape[static_cast<size_t>(p.axis)] = 1;
  } else {
    shape.erase(shape.begin() + p.axis);
  }
  return {{DataType::i64, shape}};
}

}  // namespace arbalest
