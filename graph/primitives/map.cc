#include "graph/primitives/map.h"

#include <unordered_set>

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"

namespace arbalest {

namespace {

// Every input that the expression reads exists and has the type that the expression expects.
void check_inputs(const Scalar& expression, Types in) {
  std::unordered_set<const void*> seen;
  std::vector<const Scalar*> open{&expression};
  while (!open.empty()) {
    const Scalar& e = *open.back();
    open.pop_back();
    if (!seen.insert(e.identity()).second) continue;
    if (e.op() == ScalarOp::input) {
      const auto i = static_cast<size_t>(e.input_index());
      ensure(i < in.size(), "the expression reads input {} of {}", i, in.size());
      ensure(in[i].dtype == e.type(), "input {} is {}, the expression reads {}", i, to_string(in[i]),
             name_of(e.type()));
    }
    for (const Scalar& operand : e.operands()) open.push_back(&operand);
  }
}

}  // namespace

std::vector<TensorType> infer(const Map& p, Types in) {
  check_inputs(p.expression, in);
  Shape shape;
  for (const TensorType& t : in) shape = broadcast(shape, t.shape);
  return {{p.expression.type(), shape}};
}

std::vector<TensorType> infer(const StopGradient& p, Types in) {
  expect_inputs(in, 1, p.kName);
  return {in[0]};
}

}  // namespace arbalest
