// The nodes of a model in an order in which they can be translated.
//
// Invariant: model-local functions are inlined (values inside a call are prefixed with the call's first output), every
// name that a node reads is a graph input, an initializer or the output of an earlier node, every name is written once,
// and only nodes that the wanted outputs need are left; the same in each subgraph, which may also read the names around
// it. The file's order is kept where it is valid. Depth of the graph and of calls costs no stack; subgraphs nest as
// deep as the parser allowed.
//
// Source: ONNX IR specification, "Graphs" and "Functions".
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx_import/model_file.h"

namespace arbalest {

struct FlatBody;

struct FlatNode {
  const onnx::NodeProto* proto;
  int opset;          // of the node's domain, where the node stands
  std::string label;  // "conv1 (Conv)"; the first output in place of a missing name
  int index;          // place in the file after inlining, different from that of any other node
  std::map<std::string, std::shared_ptr<FlatBody>> bodies;  // subgraphs of If, Loop and Scan, by attribute
};

// A subgraph. A name that it defines hides the same name outside.
struct FlatBody {
  const onnx::GraphProto* graph;
  std::vector<FlatNode> nodes;
  // Initializers and float Constants of the body -> place among the model's tensors; filled by the importer.
  std::unordered_map<std::string, size_t> tensors;
};

struct FlatGraph {
  std::vector<FlatNode> nodes;
  std::deque<onnx::NodeProto> inlined;  // what nodes of function bodies point to
};

// Domain as messages and tables have it: "" for the default domain, which files also call "ai.onnx".
std::string domain_of(const onnx::NodeProto& node);
// Name of the node, or of its first output.
std::string node_name(const onnx::NodeProto& node);
// For messages: "node 'conv1' (Conv)".
std::string describe(const FlatNode& node);
// Names that a node reads, those captured by its subgraphs included; a name may come twice.
std::vector<std::string> names_read(const onnx::NodeProto& node);

// All nodes of the main graph, functions inlined.
FlatGraph inline_functions(const onnx::ModelProto& model);
// Model error listing names that nothing produces, names produced twice, and cycles; else sorts the nodes.
void check_and_sort(FlatGraph& flat, const onnx::GraphProto& graph);
// Drops the nodes that none of the named values needs; of a subgraph, those that none of its outputs needs.
void keep_needed(FlatGraph& flat, const std::vector<std::string>& outputs);
// Calls f(node) for all nodes, those of subgraphs after the node that holds them.
template <class F>
void for_each_node(const std::vector<FlatNode>& nodes, F&& f) {
  for (const FlatNode& node : nodes) {
    f(node);
    for (const auto& [attribute, body] : node.bodies) for_each_node(body->nodes, f);
  }
}

}  // namespace arbalest
