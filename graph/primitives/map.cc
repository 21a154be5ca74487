#include "graph/primitives/map.h"

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"
#include "graph/scalar_walk.h"

namespace arbalest {

namespace {

// Every input that the expression reads exists and has the type that the expression expects.
void check_inputs(const Scalar& expression, Types in) {
  for (const Scalar* e : post_order(expression)) {
    if (e->op() != ScalarOp::input) continue;
    const auto i = static_cast<size_t>(e->input_index());
    ensure(i < in.size(), "the expression reads input {} of {}", i, in.size());
    ensure(in[i].dtype == e->type(), "input {} is {}, the expression reads {}", i, to_string(in[i]),
           name_of(e->type()));
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

namespace {

// Moves the factor into a choice between constants: select(c, dy, 0) for select(c, 1, 0) dy.
Scalar times(const Scalar& slope, const Scalar& dy) {
  if (slope.op() != ScalarOp::select) return slope * dy;
  const auto branch = slope.operands();
  if (!branch[1].is_constant() && !branch[2].is_constant()) return slope * dy;
  return select(branch[0], branch[1] * dy, branch[2] * dy);
}

// d y / d input(i) times dy, over the inputs, y (input n) and dy (input n + 1).
Scalar slope(const Scalar& expression, int i, int n, DataType input_type) {
  const Scalar slope = derivative(expression, i);
  if (slope.is_constant() && slope.value() == 0) return slope;
  // Reading the output is worth it where it saves reading an input, which can then be freed.
  const Scalar by_output = replace(slope, expression, Scalar::input(n, expression.type()));
  bool saves = false;
  for (int k = 0; k < n; ++k) saves = saves || (uses_input(slope, k) && !uses_input(by_output, k));
  return cast(times(saves ? by_output : slope, Scalar::input(n + 1, expression.type())), input_type);
}

}  // namespace

Values gradient(const Map& p, GradientContext& g) {
  const int n = g.input_count();
  Values operands;
  for (int i = 0; i < n; ++i) operands.push_back(g.input(i));
  operands.push_back(g.output(0));
  operands.push_back(g.output_gradient(0));
  Values result(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    if (!g.needs(i)) continue;
    const Scalar e = slope(p.expression, i, n, g.input(i).dtype());
    if (!e.is_constant()) result[static_cast<size_t>(i)] = map_expression(e, operands);
  }
  return result;
}

Values gradient(const StopGradient&, GradientContext&) { return {Value()}; }

}  // namespace arbalest
