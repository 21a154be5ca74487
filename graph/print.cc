#include "graph/print.h"

#include <cctype>

#include "graph/primitive_fields.h"

namespace arbalest {

namespace {

const char* role_name(InputRole role) {
  static constexpr const char* kNames[] = {"data", "label", "parameter", "state", "computed"};
  return kNames[static_cast<size_t>(role)];
}

// Inputs print as their name, other values as numbers in the order in which they are computed.
std::vector<std::string> labels(const Graph& graph) {
  std::vector<std::string> result(graph.values.size(), "%?");
  for (const GraphInput& input : graph.inputs) {
    const bool plain = !input.name.empty() && !std::isdigit(static_cast<unsigned char>(input.name[0]));
    result[input.value.at()] = plain ? fmt::format("%{}", input.name) : fmt::format("%\"{}\"", input.name);
  }
  size_t next = 0;
  for (const Node& n : graph.nodes) {
    for (const ValueId v : n.outputs) result[v.at()] = fmt::format("%{}", next++);
  }
  return result;
}

template <class List, class F>
std::string comma_separated(const List& list, F&& text) {
  std::string result;
  for (const auto& e : list) result += (result.empty() ? "" : ", ") + text(e);
  return result;
}

// For a quoted string of DOT.
std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

}  // namespace

std::string to_text(const Graph& graph) {
  const std::vector<std::string> label = labels(graph);
  const auto name = [&](ValueId v) { return v ? label[v.at()] : std::string("none"); };
  const auto type = [&](ValueId v) { return to_string(graph.at(v).type); };
  std::string text;
  for (const GraphInput& input : graph.inputs) {
    text += fmt::format("{} {} : {}\n", role_name(input.role), name(input.value), type(input.value));
  }
  for (const Node& n : graph.nodes) {
    const std::string fields = fields_text(n.primitive);
    text += fmt::format("{} = {}({}){}{} : {}", comma_separated(n.outputs, name), name_of(n.primitive),
                        comma_separated(n.inputs, name), fields.empty() ? "" : " ", fields,
                        comma_separated(n.outputs, type));
    text += n.origin.empty() ? "\n" : fmt::format("  # {}\n", n.origin);
  }
  for (const SegmentEnd& end : graph.segment_ends) {
    text += fmt::format("segment end ({}) gives {}: {}  # {}\n", comma_separated(end.sources, name),
                        comma_separated(end.inputs, name),
                        comma_separated(end.sizes, [](const std::string& size) { return size; }), end.origin);
  }
  for (const GraphOutput& o : graph.outputs) text += fmt::format("output {} = {}\n", o.name, name(o.value));
  if (graph.loss) text += fmt::format("loss = {}\n", name(graph.loss));
  if (graph.correct) text += fmt::format("correct = {}\n", name(graph.correct));
  for (const ParameterGradient& g : graph.gradients) {
    text += fmt::format("gradient of {} = {}\n", name(g.parameter), name(g.gradient));
  }
  for (const StateUpdate& u : graph.updates) text += fmt::format("next {} = {}\n", name(u.state), name(u.next));
  return text;
}

std::string to_dot(const Graph& graph) {
  const std::vector<std::string> label = labels(graph);
  std::string text = "digraph {\n  node [shape=box];\n";
  for (const GraphInput& input : graph.inputs) {
    text += fmt::format("  v{} [shape=ellipse, label=\"{}\"];\n", input.value.index, quoted(input.name));
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& n = graph.nodes[i];
    text += fmt::format("  n{} [label=\"{}\\l{}\\l\"];\n", i, name_of(n.primitive), quoted(n.origin));
    for (const ValueId v : n.inputs) {
      const NodeId from = graph.at(v).producer;
      text += fmt::format("  {}{} -> n{} [label=\"{}\"];\n", from ? "n" : "v", from ? from.index : v.index, i,
                          quoted(to_string(graph.at(v).type.shape)));
    }
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const GraphOutput& o = graph.outputs[i];
    const NodeId from = graph.at(o.value).producer;
    text += fmt::format("  o{} [shape=ellipse, label=\"{}\"];\n  {}{} -> o{};\n", i, quoted(o.name), from ? "n" : "v",
                        from ? from.index : o.value.index, i);
  }
  return text + "}\n";
}

}  // namespace arbalest
