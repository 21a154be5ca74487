#include <algorithm>
#include <numeric>

#include "graph/map_form.h"
#include "graph/passes/passes.h"

namespace arbalest {

namespace {

bool is_one(const Dim& d) { return d == Dim(1); }

template <class Range>
bool all_equal_to(const Range& range, int64_t value) {
  return std::all_of(range.begin(), range.end(), [&](const Dim& d) { return d == Dim(value); });
}

// [1, 1, a, b] is [a, b] to everything that broadcasts.
bool adds_leading_ones(const Shape& from, const Shape& to) {
  if (to.size() < from.size()) return false;
  const auto lead = to.end() - static_cast<int64_t>(from.size());
  return std::all_of(to.begin(), lead, is_one) && std::equal(from.begin(), from.end(), lead);
}

std::vector<int> last_two_swapped(size_t rank) {
  std::vector<int> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  if (rank >= 2) std::swap(permutation[rank - 1], permutation[rank - 2]);
  return permutation;
}

// Visits the nodes in order. A node either gets a simpler primitive in its place, or its output is replaced by an
// earlier value; what nobody reads any more is left to drop_dead_nodes.
class Simplifier {
 public:
  explicit Simplifier(Graph& graph) : graph_(graph), replacement_(graph.values.size()), uses_(graph.values.size(), 0) {
    for (const Node& n : graph.nodes) {
      for (const ValueId v : n.inputs) ++uses_[v.at()];
    }
    for (const ValueId v : graph.roots()) ++uses_[v.at()];
  }

  void run() {
    for (Node& n : graph_.nodes) {
      for (ValueId& v : n.inputs) {
        if (replacement_[v.at()]) v = replacement_[v.at()];
      }
      ValueId same;
      const Primitive primitive = n.primitive;  // a copy: simplify() may put another in its place
      std::visit([&](const auto& p) { same = simplify(p, n); }, primitive);
      if (same) replacement_[n.outputs[0].at()] = same;
    }
    graph_.replace_uses(replacement_);
  }

 private:
  // The producer of an input, if it is a P.
  template <class P>
  const Node* input_from(const Node& n, size_t i) const {
    const Node* producer = graph_.producer(n.inputs[i]);
    return producer && std::holds_alternative<P>(producer->primitive) ? producer : nullptr;
  }

  const Shape& shape(ValueId v) const { return graph_.at(v).type.shape; }
  const Shape& output_shape(const Node& n) const { return shape(n.outputs[0]); }

  ValueId input_if_same_shape(const Node& n) const {
    return shape(n.inputs[0]) == output_shape(n) ? n.inputs[0] : ValueId();
  }

  template <class P>
  ValueId simplify(const P&, Node&) {
    return ValueId();
  }

  ValueId simplify(const StopGradient&, Node& n) { return n.inputs[0]; }

  ValueId simplify(const Reshape&, Node& n) {
    if (const Node* first = input_from<Reshape>(n, 0)) n.inputs = first->inputs;
    return input_if_same_shape(n);
  }

  ValueId simplify(const Transpose& p, Node& n) {
    std::vector<int> permutation = p.permutation;
    if (const Node* first = input_from<Transpose>(n, 0)) {
      const auto& inner = std::get<Transpose>(first->primitive).permutation;
      for (int& axis : permutation) axis = inner[static_cast<size_t>(axis)];
      n.inputs = first->inputs;
      n.primitive = Transpose{permutation};
    }
    if (permutation == last_two_swapped(permutation.size()) && transpose_product(n)) return ValueId();
    // Only axes of size 1 move against the others: the elements stay in order.
    const Shape& from = shape(n.inputs[0]);
    int last = -1;
    bool in_order = true;
    for (const int axis : permutation) {
      if (is_one(from[static_cast<size_t>(axis)])) continue;
      in_order = in_order && axis > last;
      last = axis;
    }
    if (!in_order) return ValueId();
    const Reshape view{output_shape(n)};
    n.primitive = view;
    return simplify(view, n);
  }

  // (a b)' = b' a', where nobody else reads the product.
  bool transpose_product(Node& n) {
    const Node* first = input_from<MatMul>(n, 0);
    if (!first || uses_[n.inputs[0].at()] != 1) return false;
    const MatMul& p = std::get<MatMul>(first->primitive);
    if (p.bias) return false;
    n.inputs = {first->inputs[1], first->inputs[0]};
    n.primitive = MatMul{!p.transpose_b, !p.transpose_a, /*bias=*/false};
    return true;
  }

  ValueId simplify(const Expand&, Node& n) {
    if (const Node* first = input_from<Expand>(n, 0)) n.inputs = first->inputs;
    return input_if_same_shape(n);
  }

  ValueId simplify(const Slice& p, Node& n) {
    const bool whole =
        all_equal_to(p.start, 0) && std::all_of(p.step.begin(), p.step.end(), [](int64_t s) { return s == 1; });
    return whole ? input_if_same_shape(n) : ValueId();
  }

  ValueId simplify(const Pad& p, Node& n) {
    return all_equal_to(p.begin, 0) && all_equal_to(p.end, 0) ? n.inputs[0] : ValueId();
  }

  ValueId simplify(const Concat&, Node& n) { return n.inputs.size() == 1 ? n.inputs[0] : ValueId(); }

  ValueId simplify(const Reduce& p, Node& n) {
    const Shape& from = shape(n.inputs[0]);
    if (!std::all_of(p.axes.begin(), p.axes.end(), [&](int axis) { return is_one(from[static_cast<size_t>(axis)]); })) {
      return ValueId();
    }
    const Reshape view{output_shape(n)};
    n.primitive = view;
    return simplify(view, n);
  }

  // A transpose of the last two axes is free inside the product.
  ValueId simplify(const MatMul& p, Node& n) {
    MatMul product = p;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Node* first = input_from<Transpose>(n, i);
      if (!first) continue;
      const auto& permutation = std::get<Transpose>(first->primitive).permutation;
      if (permutation != last_two_swapped(permutation.size())) continue;
      n.inputs[i] = first->inputs[0];
      bool& transpose = i == 0 ? product.transpose_a : product.transpose_b;
      transpose = !transpose;
    }
    n.primitive = product;
    return ValueId();
  }

  // A Map broadcasts by itself: it needs no Expand before it unless that gives it its shape.
  ValueId simplify(const Map& p, Node& n) {
    MapForm form{p.expression, n.inputs};
    for (size_t i = 0; i < form.inputs.size(); ++i) {
      const Node* first = input_from<Expand>(n, i);
      if (!first && (first = input_from<Reshape>(n, i)) &&
          !adds_leading_ones(shape(first->inputs[0]), shape(form.inputs[i]))) {
        first = nullptr;
      }
      if (!first) continue;
      const ValueId before = std::exchange(form.inputs[i], first->inputs[0]);
      if (!(shape_of(graph_, form) == output_shape(n))) form.inputs[i] = before;
    }
    form = tidy(graph_, form);
    n.inputs = form.inputs;
    n.primitive = Map{form.expression};
    return forwarded(graph_, form);
  }

  Graph& graph_;
  std::vector<ValueId> replacement_;
  std::vector<int> uses_;  // of each value, before the pass
};

}  // namespace

void simplify_movement(Graph& graph) { Simplifier(graph).run(); }

}  // namespace arbalest
