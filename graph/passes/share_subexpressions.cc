#include <unordered_map>

#include "graph/passes/passes.h"
#include "graph/primitive_fields.h"

namespace arbalest {

namespace {

size_t hash_of_node(const Node& n) {
  size_t h = hash(n.primitive);
  for (const ValueId v : n.inputs) h = h * 1000003 + std::hash<ValueId>{}(v);
  return h;
}

bool same_computation(const Node& a, const Node& b) { return a.inputs == b.inputs && equal(a.primitive, b.primitive); }

}  // namespace

void share_subexpressions(Graph& graph) {
  std::vector<ValueId> replacement(graph.values.size());
  std::unordered_multimap<size_t, NodeId> first;
  std::vector<NodeId> order;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& n = graph.nodes[i];
    for (ValueId& v : n.inputs) {
      if (replacement[v.at()]) v = replacement[v.at()];
    }
    const size_t h = hash_of_node(n);
    const auto [begin, end] = first.equal_range(h);
    auto it = begin;
    while (it != end && !same_computation(n, graph.at(it->second))) ++it;
    if (it == end) {
      first.emplace(h, NodeId(i));
      order.push_back(NodeId(i));
      continue;
    }
    const Node& earlier = graph.at(it->second);
    for (size_t k = 0; k < n.outputs.size(); ++k) replacement[n.outputs[k].at()] = earlier.outputs[k];
  }
  graph.replace_uses(replacement);
  graph.keep(order);
}

}  // namespace arbalest
