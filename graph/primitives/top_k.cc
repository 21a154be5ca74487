#include "graph/primitives/top_k.h"

#include "graph/differentiate.h"
#include "graph/element_index.h"
#include "graph/primitives/checks.h"

namespace arbalest {

std::vector<TensorType> infer(const TopK& p, Types in) {
  expect_inputs(in, 1, p.kName);
  expect_axis(p.axis, in[0].rank());
  require(in[0].dtype != DataType::boolean, "the input is {}, expected numbers", to_string(in[0]));
  Shape shape = in[0].shape;
  Dim& size = shape[static_cast<size_t>(p.axis)];
  require(!p.k.is_constant() || p.k.value() >= 0, "k is {}, expected at least 0", to_string(p.k));
  const Dim rest = size - p.k;
  require(!rest.is_constant() || rest.value() >= 0, "k is {}, axis {} has only {} elements", to_string(p.k), p.axis,
          to_string(size));
  size = p.k;
  return {{in[0].dtype, shape}, {DataType::i64, shape}};
}

Values gradient(const TopK& p, GradientContext& g) {
  if (!g.has_output_gradient(0)) return {Value()};
  return {scatter_elements(ScatterReduction::add, g.input(0).shape(), p.axis, g.output(1), g.output_gradient(0))};
}

}  // namespace arbalest
