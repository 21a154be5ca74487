#include "graph/primitives/reduce.h"

#include "graph/differentiate.h"
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

namespace {

// Shared evenly among the elements equal to the maximum or minimum y.
Value gradient_of_extreme(const Value& x, const Value& y, const Value& dy, const std::vector<int>& axes) {
  const DataType type = x.dtype();
  const Value hits = map([type](const Scalar& a, const Scalar& b) { return cast(equal(a, b), type); }, x, y);
  const Value share = dy / reduce(Reduction::sum, hits, axes, Keep::yes);
  return map([](const Scalar& a, const Scalar& b, const Scalar& s) { return select(equal(a, b), s, 0); }, x, y, share);
}

// The product of the other elements: y / x where nothing is zero; at a single zero the product of the rest.
Value gradient_of_product(const Value& x, const Value& dy, const std::vector<int>& axes) {
  const DataType type = x.dtype();
  const Value zeros =
      reduce(Reduction::sum, map([type](const Scalar& a) { return cast(equal(a, 0), type); }, x), axes, Keep::yes);
  const Value rest =
      reduce(Reduction::prod, map([](const Scalar& a) { return select(equal(a, 0), 1, a); }, x), axes, Keep::yes);
  return map(
      [](const Scalar& a, const Scalar& n, const Scalar& r, const Scalar& d) {
        return d * select(equal(a, 0), select(equal(n, 1), r, 0), select(equal(n, 0), r / a, 0));
      },
      x, zeros, rest, dy);
}

}  // namespace

Values gradient(const Reduce& p, GradientContext& g) {
  const Value x = g.input(0);
  const Shape shape = x.shape();
  Shape kept = shape;
  for (const int axis : p.axes) kept[static_cast<size_t>(axis)] = 1;
  // Without the axes that broadcasting adds in front anyway.
  const bool leading = p.axes.empty() || static_cast<size_t>(p.axes.back()) + 1 == p.axes.size();
  const auto aligned = [&](const Value& v) { return leading ? v : reshape(v, kept); };
  const Value dy = aligned(g.output_gradient(0));
  switch (p.kind) {
    case Reduction::sum:
      return {expand(dy, shape)};
    case Reduction::mean: {
      Dim count(1);
      for (const int axis : p.axes) count = count * shape[static_cast<size_t>(axis)];
      return {expand(dy * (1.0 / static_cast<double>(count.value())), shape)};
    }
    case Reduction::max:
    case Reduction::min:
      return {gradient_of_extreme(x, aligned(g.output(0)), dy, p.axes)};
    case Reduction::prod:
      return {gradient_of_product(x, dy, p.axes)};
  }
  return {};
}

}  // namespace arbalest
