#include "graph/primitives/scatter.h"

#include "graph/differentiate.h"
#include "graph/element_index.h"
#include "graph/primitives/checks.h"

namespace arbalest {

std::vector<TensorType> infer(const Scatter& p, Types in) {
  expect_inputs(in, p.onto_zeros ? 2 : 3, p.kName);
  const TensorType &indices = in[in.size() - 2], &updates = in[in.size() - 1];
  expect_index(indices, "the index tensor");
  require(0 <= p.axis && p.axis + indices.rank() <= updates.rank(), "axis {} and {} axes of indices of rank-{} updates",
          p.axis, indices.rank(), updates.rank());
  const auto first = updates.shape.begin() + p.axis, last = first + indices.rank();
  Shape replaced, shape = updates.shape;
  replaced.assign(first, last);
  expect_shape(replaced, indices.shape, "the update, along the indices,");
  shape.erase(shape.begin() + p.axis, shape.begin() + p.axis + indices.rank());
  shape.insert(shape.begin() + p.axis, p.size);
  if (p.onto_zeros) return {{updates.dtype, shape}};
  expect_dtype(updates, in[0].dtype, "the update");
  expect_axis(p.axis, in[0].rank());
  shape[static_cast<size_t>(p.axis)] = in[0].shape[static_cast<size_t>(p.axis)];
  expect_shape(in[0].shape, shape, "the data to update");
  return {in[0]};
}

namespace {

// What the rules below have in common.
class ScatterGradient {
 public:
  ScatterGradient(const Scatter& p, GradientContext& g)
      : p_(p),
        g_(g),
        indices_(g.input(g.input_count() - 2)),
        updates_(g.input(g.input_count() - 1)),
        dy_(g.output_gradient(0)) {}

  Values run() {
    const Value data = needs_data() ? gradient_of_data() : Value();
    const Value updates = g_.needs(g_.input_count() - 1) ? gradient_of_updates() : Value();
    if (p_.onto_zeros) return {Value(), updates};
    return {data, Value(), updates};
  }

 private:
  bool needs_data() const { return !p_.onto_zeros && g_.needs(0); }
  Value data() const { return g_.input(0); }
  const Dim& size() const { return g_.output(0).shape()[static_cast<size_t>(p_.axis)]; }
  Value constant(double value, const Value& like) const {
    return expand(g_.builder().scalar(value, like.dtype()), like.shape());
  }
  Value at_indices(const Value& v) const { return gather(v, indices_, p_.axis); }
  Value scatter(ScatterReduction kind, const Value& onto, const Value& updates) const {
    return g_.emit_one(Scatter{p_.axis, kind, false, Dim(0)}, {onto, indices_, updates});
  }
  Value scatter_onto_zeros(ScatterReduction kind, int axis, const Value& updates) const {
    return g_.emit_one(Scatter{axis, kind, true, size()}, {indices_, updates});
  }

  Value gradient_of_data() {
    switch (p_.kind) {
      case ScatterReduction::set:
        return scatter(ScatterReduction::set, dy_, constant(0, updates_));
      case ScatterReduction::add:
        return dy_;
      case ScatterReduction::mul:
        return dy_ * scatter(ScatterReduction::mul, constant(1, dy_), updates_);
      case ScatterReduction::max:
      case ScatterReduction::min:
        return map([](const Scalar& x, const Scalar& y, const Scalar& s) { return select(equal(x, y), s, 0); }, data(),
                   g_.output(0), shares());
    }
    return Value();
  }

  Value gradient_of_updates() {
    const Value dy = at_indices(dy_);
    switch (p_.kind) {
      case ScatterReduction::set:
        return map([](const Scalar& last, const Scalar& d) { return select(last, d, 0); }, is_last(), dy);
      case ScatterReduction::add:
        return dy;
      case ScatterReduction::mul:
        return gradient_of_factors(dy);
      case ScatterReduction::max:
      case ScatterReduction::min:
        return map([](const Scalar& x, const Scalar& y, const Scalar& s) { return select(equal(x, y), s, 0); },
                   updates_, at_indices(g_.output(0)), at_indices(shares()));
    }
    return Value();
  }

  // Which indices no equal one follows, with axes of size 1 so that it broadcasts against the updates.
  Value is_last() {
    Dim count(1);
    for (const Dim& d : indices_.shape()) count = count * d;
    const Value number = reshape(iota(g_.builder(), count), indices_.shape());
    const Value winner = gather(scatter_onto_zeros(ScatterReduction::set, 0, number), indices_, 0);
    Shape shape = indices_.shape();
    shape.resize(static_cast<size_t>(updates_.rank() - p_.axis), Dim(1));
    return reshape(map([](const Scalar& a, const Scalar& b) { return equal(a, b); }, number, winner), shape);
  }

  // The product of data and the other updates of the same element: the whole by this one where nothing is zero, at a
  // single zero the product of the rest.
  Value gradient_of_factors(const Value& dy) {
    const DataType type = updates_.dtype();
    const Value is_zero = map([type](const Scalar& u) { return cast(equal(u, 0), type); }, updates_);
    const Value zeros = scatter_onto_zeros(ScatterReduction::add, p_.axis, is_zero);
    const Value not_zero = map([](const Scalar& u) { return select(equal(u, 0), 1, u); }, updates_);
    const Value base = p_.onto_zeros ? constant(0, dy_) : data();
    const Value rest = scatter(ScatterReduction::mul, base, not_zero);
    return map(
        [](const Scalar& u, const Scalar& n, const Scalar& r, const Scalar& d) {
          return d * select(equal(u, 0), select(equal(n, 1), r, 0), select(equal(n, 0), r / u, 0));
        },
        updates_, at_indices(zeros), at_indices(rest), dy);
  }

  // dy divided by how many of the data and the updates are equal to the result.
  Value shares() {
    if (shares_) return shares_;
    const Value y = g_.output(0);
    const DataType type = y.dtype();
    const auto hit = [type](const Scalar& a, const Scalar& b) { return cast(equal(a, b), type); };
    const Value of_data = map(hit, p_.onto_zeros ? constant(0, y) : data(), y);
    return shares_ = dy_ / scatter(ScatterReduction::add, of_data, map(hit, updates_, at_indices(y)));
  }

  const Scatter& p_;
  GradientContext& g_;
  Value indices_, updates_, dy_, shares_;
};

}  // namespace

Values gradient(const Scatter& p, GradientContext& g) { return ScatterGradient(p, g).run(); }

}  // namespace arbalest
