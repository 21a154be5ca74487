#include "graph/primitives/random.h"

#include "graph/primitives/checks.h"

namespace arbalest {

std::vector<TensorType> infer(const RandomUniform& p, Types in) {
  expect_inputs(in, 0, p.kName);
  require(is_float(p.dtype), "random numbers of {}, expected a float type", name_of(p.dtype));
  return {{p.dtype, p.shape}};
}

}  // namespace arbalest
