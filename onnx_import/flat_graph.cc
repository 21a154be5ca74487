#include "onnx_import/flat_graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/base/error.h"

namespace arbalest {
namespace {

constexpr size_t kMaxListedFaults = 20;  // faults in one message

using NameSet = std::unordered_set<std::string>;

std::string list_of(const std::vector<std::string>& faults) {
  std::string text;
  for (size_t i = 0; i < faults.size() && i < kMaxListedFaults; ++i) text += (i ? "\n  " : "") + faults[i];
  if (faults.size() > kMaxListedFaults) text += fmt::format("\n  and {} more", faults.size() - kMaxListedFaults);
  return text;
}

template <class F>
void for_each_subgraph(const onnx::NodeProto& node, F&& f) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) f(attribute.g());
    for (const onnx::GraphProto& g : attribute.graphs()) f(g);
  }
}

void add_names_read(const onnx::NodeProto& node, const NameSet& own, std::vector<std::string>& names);

// Names that a subgraph takes from outside. `own` are the names that enclosing subgraphs define.
void add_captured(const onnx::GraphProto& graph, NameSet own, std::vector<std::string>& names) {
  for (const auto& input : graph.input()) own.insert(input.name());
  for (const auto& tensor : graph.initializer()) own.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) own.insert(tensor.values().name());
  for (const onnx::NodeProto& node : graph.node()) own.insert(node.output().begin(), node.output().end());
  for (const onnx::NodeProto& node : graph.node()) add_names_read(node, own, names);
  for (const auto& output : graph.output()) {
    if (!own.count(output.name())) names.push_back(output.name());
  }
}

// Gradient names the tensors that it differentiates and those that hold still, beside giving their values.
std::vector<std::string> names_in_attributes(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  if (node.op_type() != "Gradient" || domain_of(node) != "ai.onnx.preview.training") return names;
  for (const onnx::AttributeProto& a : node.attribute()) {
    names.insert(names.end(), a.strings().begin(), a.strings().end());
    if (a.has_s()) names.push_back(a.s());
  }
  return names;
}

void add_names_read(const onnx::NodeProto& node, const NameSet& own, std::vector<std::string>& names) {
  for (const std::string& name : node.input()) {
    if (!name.empty() && !own.count(name)) names.push_back(name);
  }
  for (const std::string& name : names_in_attributes(node)) {
    if (!own.count(name)) names.push_back(name);
  }
  for_each_subgraph(node, [&](const onnx::GraphProto& g) { add_captured(g, own, names); });
}

constexpr int kFromOutside = -1;  // producer of graph inputs and initializers
using Producers = std::unordered_map<std::string, int>;

Producers find_producers(const std::vector<FlatNode>& nodes, const onnx::GraphProto& graph) {
  Producers producers;
  for (const auto& tensor : graph.initializer()) producers[tensor.name()] = kFromOutside;
  for (const auto& tensor : graph.sparse_initializer()) producers[tensor.values().name()] = kFromOutside;
  for (const auto& input : graph.input()) producers[input.name()] = kFromOutside;
  std::vector<std::string> faults;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].proto->output()) {
      if (name.empty()) continue;
      const auto [first, is_new] = producers.emplace(name, static_cast<int>(i));
      if (is_new) continue;
      const std::string earlier = first->second == kFromOutside
                                      ? "an input or initializer of the graph"
                                      : "written by " + describe(nodes[static_cast<size_t>(first->second)]);
      faults.push_back(
          fmt::format("duplicate tensor '{}': written by {}, but it is already {}", name, describe(nodes[i]), earlier));
    }
  }
  require(faults.empty(), "{}", list_of(faults));
  return producers;
}

using Dependencies = std::vector<std::vector<int>>;  // for each node, the nodes it needs

// Names that no node, input or initializer gives are faults, or, in a subgraph, come from outside.
Dependencies find_dependencies(const std::vector<FlatNode>& nodes, const Producers& producers, bool is_subgraph) {
  Dependencies dependencies(nodes.size());
  std::vector<std::string> faults;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : names_read(*nodes[i].proto)) {
      const auto producer = producers.find(name);
      if (producer == producers.end()) {
        if (is_subgraph) continue;
        faults.push_back(fmt::format("{} reads '{}', which no input, initializer or node of the model gives",
                                     describe(nodes[i]), name));
      } else if (producer->second != kFromOutside) {
        dependencies[i].push_back(producer->second);
      }
    }
  }
  require(faults.empty(), "{}", list_of(faults));
  return dependencies;
}

std::string text_of_cycle(const std::vector<FlatNode>& nodes, const std::vector<int>& path, int start) {
  const auto first = std::find(path.begin(), path.end(), start);
  std::vector<std::string> labels;
  for (auto i = first; i != path.end(); ++i) labels.push_back(describe(nodes[static_cast<size_t>(*i)]));
  std::reverse(labels.begin(), labels.end());  // the path goes from readers to what they read
  if (labels.size() > kMaxListedFaults) labels.resize(kMaxListedFaults);
  return fmt::format("{}", fmt::join(labels, " -> "));
}

// Depth first, in the file's order, what a node needs before the node; a stack of our own, for graphs are deep.
std::vector<int> sorted(const std::vector<FlatNode>& nodes, const Dependencies& dependencies) {
  enum class State : uint8_t { waiting, open, done };
  std::vector<State> state(nodes.size(), State::waiting);
  std::vector<int> order, path;
  std::vector<size_t> next(nodes.size(), 0);
  for (size_t start = 0; start < nodes.size(); ++start) {
    if (state[start] != State::waiting) continue;
    path.push_back(static_cast<int>(start));
    state[start] = State::open;
    while (!path.empty()) {
      const auto node = static_cast<size_t>(path.back());
      if (next[node] == dependencies[node].size()) {
        state[node] = State::done;
        order.push_back(path.back());
        path.pop_back();
        continue;
      }
      const int needed = dependencies[node][next[node]++];
      State& s = state[static_cast<size_t>(needed)];
      require(s != State::open, "the graph has a cycle: {} -> the first again", text_of_cycle(nodes, path, needed));
      if (s == State::waiting) {
        s = State::open;
        path.push_back(needed);
      }
    }
  }
  return order;
}

void sort(std::vector<FlatNode>& nodes, const Dependencies& dependencies) {
  std::vector<FlatNode> in_order;
  for (const int i : sorted(nodes, dependencies)) in_order.push_back(std::move(nodes[static_cast<size_t>(i)]));
  nodes = std::move(in_order);
}

void sort_bodies(const std::vector<FlatNode>& nodes) {
  for (const FlatNode& node : nodes) {
    for (const auto& [attribute, body] : node.bodies) {
      try {
        const Producers producers = find_producers(body->nodes, *body->graph);
        sort(body->nodes, find_dependencies(body->nodes, producers, /*is_subgraph=*/true));
        sort_bodies(body->nodes);
      } catch (const Error& e) {
        throw e.within(describe(node));
      }
    }
  }
}

void keep_needed_nodes(std::vector<FlatNode>& nodes, NameSet needed) {
  std::vector<FlatNode> kept;
  for (size_t i = nodes.size(); i-- > 0;) {
    FlatNode& node = nodes[i];
    const auto& written = node.proto->output();
    const bool is_needed = std::any_of(written.begin(), written.end(),
                                       [&](const std::string& name) { return !name.empty() && needed.count(name); });
    if (!is_needed) continue;
    for (std::string& name : names_read(*node.proto)) needed.insert(std::move(name));
    for (const auto& [attribute, body] : node.bodies) {
      NameSet outputs;
      for (const auto& output : body->graph->output()) outputs.insert(output.name());
      keep_needed_nodes(body->nodes, std::move(outputs));
    }
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  nodes = std::move(kept);
}

}  // namespace

std::string domain_of(const onnx::NodeProto& node) { return node.domain() == "ai.onnx" ? "" : node.domain(); }

std::string node_name(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return "";
}

std::string describe(const FlatNode& node) {
  return fmt::format("node '{}' ({})", node_name(*node.proto), node.proto->op_type());
}

std::vector<std::string> names_read(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  add_names_read(node, {}, names);
  return names;
}

void check_and_sort(FlatGraph& flat, const onnx::GraphProto& graph) {
  const Producers producers = find_producers(flat.nodes, graph);
  const Dependencies dependencies = find_dependencies(flat.nodes, producers, /*is_subgraph=*/false);
  for (const auto& output : graph.output()) {
    require(producers.count(output.name()), "output '{}' of the graph is given by no node, input or initializer",
            output.name());
  }
  sort(flat.nodes, dependencies);
  sort_bodies(flat.nodes);
}

void keep_needed(FlatGraph& flat, const std::vector<std::string>& outputs) {
  keep_needed_nodes(flat.nodes, NameSet(outputs.begin(), outputs.end()));
}

}  // namespace arbalest
