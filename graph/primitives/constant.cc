#include "graph/primitives/constant.h"

#include "graph/primitives/checks.h"

namespace arbalest {

std::vector<TensorType> infer(const Constant& p, Types in) {
  expect_inputs(in, 0, p.kName);
  ensure(p.value != nullptr, "a constant without a value");
  return {{p.value->dtype, p.value->dims}};
}

std::vector<TensorType> infer(const ShapeTensor& p, Types in) {
  expect_inputs(in, 0, p.kName);
  ensure(p.shape.is_static() && element_count(p.shape.dims()) == static_cast<int64_t>(p.values.size()),
         "{} values of a shape tensor of {}", p.values.size(), to_string(p.shape));
  return {{p.dtype, p.shape}};
}

}  // namespace arbalest
