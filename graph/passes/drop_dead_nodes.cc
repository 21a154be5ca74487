#include <algorithm>

#include "graph/passes/passes.h"

namespace arbalest {

void drop_dead_nodes(Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (const ValueId v : graph.roots()) needed[v.at()] = true;
  std::vector<NodeId> order;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& n = graph.nodes[i];
    if (std::none_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return needed[v.at()]; })) continue;
    for (const ValueId v : n.inputs) needed[v.at()] = true;
    order.push_back(NodeId(i));
  }
  std::reverse(order.begin(), order.end());
  graph.keep(order);
}

}  // namespace arbalest
