#include <algorithm>

#include "graph/map_form.h"
#include "graph/passes/passes.h"
#include "graph/scalar_walk.h"

namespace arbalest {

namespace {

// A fused Map holds at most this much: its temporaries stay in the fastest cache, and fusing stays linear in the graph.
constexpr size_t kMaxNodes = 64;
constexpr size_t kMaxInputs = 8;
// A Map of at most this cost is computed again by each reader rather than stored.
constexpr int kCheap = 6;

// In units of an addition.
int cost(const Scalar& e) {
  switch (e.op()) {
    case ScalarOp::input:
    case ScalarOp::constant:
      return 0;
    case ScalarOp::cast:
    case ScalarOp::neg:
    case ScalarOp::abs:
    case ScalarOp::relu:
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul:
    case ScalarOp::min:
    case ScalarOp::max:
    case ScalarOp::equal:
    case ScalarOp::less:
    case ScalarOp::less_equal:
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
    case ScalarOp::logical_not:
    case ScalarOp::select:
      return 1;
    case ScalarOp::div:
    case ScalarOp::reciprocal:
    case ScalarOp::sqrt:
      return 4;
    default:
      return 8;
  }
}

bool is_cheap(const Scalar& expression) {
  int total = 0;
  for (const Scalar* e : post_order(expression)) total += cost(*e);
  return total <= kCheap;
}

class Fusion {
 public:
  explicit Fusion(Graph& graph)
      : graph_(graph),
        readers_(graph.consumers()),
        is_root_(graph.values.size(), false),
        replacement_(graph.values.size()) {
    for (const ValueId v : graph.roots()) is_root_[v.at()] = true;
  }

  void run() {
    for (Node& n : graph_.nodes) {
      for (ValueId& v : n.inputs) {
        if (replacement_[v.at()]) v = replacement_[v.at()];
      }
      if (std::holds_alternative<Map>(n.primitive)) visit(n);
    }
    graph_.replace_uses(replacement_);
  }

 private:
  const Map* map_behind(ValueId v) const {
    const Node* n = graph_.producer(v);
    return n ? std::get_if<Map>(&n->primitive) : nullptr;
  }

  void visit(Node& n) {
    MapForm form{std::get<Map>(n.primitive).expression, n.inputs};
    for (const ValueId v : n.inputs) {
      if (map_behind(v)) {
        take_in(form, v);
      } else {
        take_in_constant(form, v);
      }
    }
    form = tidy(graph_, form);
    n.primitive = Map{form.expression};
    n.inputs = form.inputs;
    replacement_[n.outputs[0].at()] = forwarded(graph_, form);
  }

  // Puts a form in the place of the inputs that read v.
  MapForm substituted(const MapForm& form, ValueId v, const MapForm& by) const {
    MapForm result{form.expression, form.inputs};
    std::vector<Scalar> shifted;
    for (size_t i = 0; i < by.inputs.size(); ++i) {
      const auto index = static_cast<int>(form.inputs.size() + i);
      shifted.push_back(Scalar::input(index, graph_.at(by.inputs[i]).type.dtype));
    }
    const Scalar inner = substitute(by.expression, shifted);
    std::vector<Scalar> replacements;
    for (size_t i = 0; i < form.inputs.size(); ++i) {
      const DataType type = graph_.at(form.inputs[i]).type.dtype;
      replacements.push_back(form.inputs[i] == v ? inner : Scalar::input(static_cast<int>(i), type));
    }
    result.expression = substitute(form.expression, replacements);
    result.inputs.insert(result.inputs.end(), by.inputs.begin(), by.inputs.end());
    return tidy(graph_, result);
  }

  // The Map behind v moves into the form if that pays.
  void take_in(MapForm& form, ValueId v) const {
    const Node& inner = *graph_.producer(v);
    if (!may_move(inner, shape_of(graph_, form))) return;
    const MapForm fused = substituted(form, v, {std::get<Map>(inner.primitive).expression, inner.inputs});
    if (fused.inputs.size() > kMaxInputs || fused.expression.node_count() > kMaxNodes) return;
    form = fused;
  }

  // Everybody who reads the Map can take it in: then it need not be stored. Several readers compute it again each.
  bool may_move(const Node& n, const Shape& iteration) const {
    const ValueId v = n.outputs[0];
    const Shape& shape = graph_.at(v).type.shape;
    if (is_root_[v.at()] || !(shape == iteration)) return false;
    const auto& readers = readers_[v.at()];
    for (const NodeId r : readers) {
      const Node& reader = graph_.at(r);
      if (!std::holds_alternative<Map>(reader.primitive) || !(graph_.at(reader.outputs[0]).type.shape == shape)) {
        return false;
      }
    }
    if (readers.size() == 1) return true;
    // It pays to keep one large input alive instead of the result, but not two.
    const auto large =
        std::count_if(n.inputs.begin(), n.inputs.end(), [&](ValueId i) { return graph_.at(i).type.shape == shape; });
    return large <= 1 && is_cheap(std::get<Map>(n.primitive).expression);
  }

  // A constant of one element becomes part of the expression. A Map keeps at least one input.
  void take_in_constant(MapForm& form, ValueId v) const {
    const Node* producer = graph_.producer(v);
    const auto* constant = producer ? std::get_if<Constant>(&producer->primitive) : nullptr;
    if (!constant || constant->value->element_count() != 1) return;
    const HostTensor& t = *constant->value;
    const Scalar number = is_float(t.dtype) ? Scalar::constant(t.to(DataType::f64).as<double>()[0], t.dtype)
                                            : Scalar::constant(t.to(DataType::i64).as<int64_t>()[0], t.dtype);
    const MapForm simpler = substituted(form, v, {number, {}});
    if (!simpler.inputs.empty()) form = simpler;
  }

  Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> is_root_;
  std::vector<ValueId> replacement_;
};

}  // namespace

void fuse_maps(Graph& graph) { Fusion(graph).run(); }

}  // namespace arbalest
