#include "graph/graph.h"

#include <algorithm>
#include <set>

#include "graph/primitive_fields.h"

namespace arbalest {

namespace {

template <class List>
auto find_named(const List& list, const std::string& name) -> decltype(&list[0]) {
  const auto it = std::find_if(list.begin(), list.end(), [&](const auto& e) { return e.name == name; });
  return it == list.end() ? nullptr : &*it;
}

// The subject of errors about a node.
std::string subject(const Graph& graph, size_t node) {
  const Node& n = graph.nodes[node];
  return n.origin.empty() ? fmt::format("node {} ({})", node, name_of(n.primitive)) : n.origin;
}

}  // namespace

const Node* Graph::producer(ValueId v) const {
  const NodeId n = at(v).producer;
  return n ? &at(n) : nullptr;
}

const GraphInput* Graph::find_input(const std::string& name) const { return find_named(inputs, name); }

const GraphOutput* Graph::find_output(const std::string& name) const { return find_named(outputs, name); }

std::vector<ValueId> Graph::roots() const {
  std::vector<ValueId> result;
  for (const GraphOutput& o : outputs) result.push_back(o.value);
  if (loss) result.push_back(loss);
  if (correct) result.push_back(correct);
  for (const ParameterGradient& g : gradients) {
    if (g.gradient) result.push_back(g.gradient);
  }
  for (const StateUpdate& u : updates) result.push_back(u.next);
  for (const SegmentEnd& end : segment_ends) result.insert(result.end(), end.sources.begin(), end.sources.end());
  return result;
}

std::vector<std::vector<NodeId>> Graph::consumers() const {
  std::vector<std::vector<NodeId>> result(values.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const ValueId v : nodes[i].inputs) {
      auto& readers = result[v.at()];
      if (readers.empty() || readers.back() != NodeId(i)) readers.push_back(NodeId(i));
    }
  }
  return result;
}

void Graph::keep(const std::vector<NodeId>& order) {
  std::deque<Node> kept;
  for (const NodeId n : order) kept.push_back(std::move(at(n)));
  nodes = std::move(kept);
  for (ValueInfo& v : values) v.producer = NodeId();
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const ValueId v : nodes[i].outputs) at(v).producer = NodeId(i);
  }
}

void Graph::replace_uses(const std::vector<ValueId>& replacement) {
  std::vector<ValueId> final = replacement;
  final.resize(values.size());
  std::vector<ValueId> path;
  const auto replace = [&](ValueId& use) {
    if (!use) return;
    ValueId end = use;
    for (; final[end.at()]; end = final[end.at()]) path.push_back(end);
    for (const ValueId v : path) final[v.at()] = end;  // the next walk from here is one step
    path.clear();
    use = end;
  };
  for (Node& n : nodes) std::for_each(n.inputs.begin(), n.inputs.end(), replace);
  for (GraphOutput& o : outputs) replace(o.value);
  for (StateUpdate& u : updates) replace(u.next);
  for (ParameterGradient& g : gradients) replace(g.gradient);
  for (SegmentEnd& end : segment_ends) std::for_each(end.sources.begin(), end.sources.end(), replace);
  replace(loss);
  replace(correct);
}

void bind(Graph& graph, const Bindings& bindings) {
  std::vector<std::string> names = symbols(graph);
  for (const Node& n : graph.nodes) add_symbols(n.primitive, names);
  std::string missing;
  for (const std::string& name : names) {
    if (!bindings.contains(name)) missing += (missing.empty() ? "" : ", ") + name;
  }
  ensure(missing.empty(), "no size given for {}", missing);

  for (const GraphInput& input : graph.inputs) {
    TensorType& type = graph.at(input.value).type;
    for (Dim& d : type.shape) d = d.bind(bindings);
    element_count(type.dims());
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    try {
      bind(node.primitive, bindings);
      std::vector<TensorType> inputs;
      for (const ValueId v : node.inputs) inputs.push_back(graph.at(v).type);
      const std::vector<TensorType> types = infer(node.primitive, inputs);
      for (size_t k = 0; k < types.size(); ++k) {
        element_count(types[k].dims());
        graph.at(node.outputs[k]).type = types[k];
      }
    } catch (const Error& e) {
      throw e.within(subject(graph, i));
    }
  }
  for (ValueInfo& v : graph.values) {
    if (!v.contents) continue;
    for (Dim& d : *v.contents) d = d.bind(bindings);
  }
}

std::vector<std::string> symbols(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphInput& input : graph.inputs) {
    for (const Dim& d : graph.at(input.value).type.shape) d.add_symbols(names);
  }
  return names;
}

}  // namespace arbalest
