#include <algorithm>

#include "graph/passes/passes.h"

namespace arbalest {

namespace {

// A result of this size is kept as a constant even though what it is computed from is smaller.
constexpr size_t kSmallBytes = 64 * 1024;

bool is_constant(const Primitive& p) { return std::holds_alternative<Constant>(p); }

bool is_static(const Graph& graph, const std::vector<ValueId>& values) {
  return std::all_of(values.begin(), values.end(), [&](ValueId v) { return graph.at(v).type.shape.is_static(); });
}

size_t bytes(const Graph& graph, const std::vector<ValueId>& values) {
  size_t sum = 0;
  for (const ValueId v : values) sum += graph.at(v).type.bytes();
  return sum;
}

// Marks the nodes to fold: all inputs constant or folded, the result not much larger than they.
std::vector<bool> foldable_nodes(const Graph& graph) {
  std::vector<bool> known(graph.values.size(), false), foldable(graph.nodes.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& n = graph.nodes[i];
    bool constant = is_constant(n.primitive);
    if (!constant && !n.inputs.empty() &&
        std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return known[v.at()]; }) &&
        is_static(graph, n.outputs)) {
      const size_t result = bytes(graph, n.outputs);
      foldable[i] = constant = result <= kSmallBytes || result <= bytes(graph, n.inputs);
    }
    for (const ValueId v : n.outputs) known[v.at()] = constant;
  }
  return foldable;
}

// The foldable nodes and the constants that they read, as a graph of its own. `results` are the values to compute.
class Extract {
 public:
  explicit Extract(const Graph& from) : from_(from), copy_(from.values.size()) {}

  void add(const Node& node) {
    Node copy{node.primitive, {}, {}, node.origin};
    for (const ValueId v : node.inputs) copy.inputs.push_back(copied(v));
    const NodeId id(part_.nodes.size());
    for (const ValueId v : node.outputs) {
      copy_[v.at()] = ValueId(part_.values.size());
      copy.outputs.push_back(copy_[v.at()]);
      part_.values.push_back({from_.at(v).type, "", id, std::nullopt});
    }
    part_.nodes.push_back(std::move(copy));
  }

  void add_result(ValueId v) { part_.outputs.push_back({copy_[v.at()], ""}); }

  const Graph& graph() const { return part_; }

 private:
  ValueId copied(ValueId v) {
    if (!copy_[v.at()]) add(*from_.producer(v));  // a constant: what is foldable was added before
    return copy_[v.at()];
  }

  const Graph& from_;
  Graph part_;
  std::vector<ValueId> copy_;
};

}  // namespace

void fold_constants(Graph& graph, const Evaluator& evaluate) {
  const std::vector<bool> foldable = foldable_nodes(graph);
  std::vector<bool> read(graph.values.size(), false);  // by what stays
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (foldable[i]) continue;
    for (const ValueId v : graph.nodes[i].inputs) read[v.at()] = true;
  }
  for (const ValueId v : graph.roots()) read[v.at()] = true;

  Extract extract(graph);
  std::vector<ValueId> results;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!foldable[i]) continue;
    extract.add(graph.nodes[i]);
    for (const ValueId v : graph.nodes[i].outputs) {
      if (!read[v.at()]) continue;
      extract.add_result(v);
      results.push_back(v);
    }
  }
  if (results.empty()) return;
  const std::vector<TensorPtr> tensors = evaluate(extract.graph());
  ensure(tensors.size() == results.size(), "{} constants computed, expected {}", tensors.size(), results.size());

  // Each result becomes a constant in the place of the node that computed it, under the same value.
  std::vector<NodeId> order;
  size_t next = 0;
  const size_t before = graph.nodes.size();
  for (size_t i = 0; i < before; ++i) {
    if (!foldable[i]) order.push_back(NodeId(i));
    for (; next < results.size() && graph.at(results[next]).producer == NodeId(i); ++next) {
      order.push_back(NodeId(graph.nodes.size()));
      graph.nodes.push_back({Constant{tensors[next]}, {}, {results[next]}, graph.nodes[i].origin});
    }
  }
  graph.keep(order);
}

}  // namespace arbalest
