// Translates the nodes of one graph, the main graph or a subgraph, into primitives.
#pragma once

#include "onnx_import/node_context.h"

namespace arbalest {

// All nodes, in their order. What is wrong with any of them is reported in one Error; nodes behind a node that failed
// are not looked at.
void translate_nodes(const std::vector<FlatNode>& nodes, ImportContext& import);

// Why the importer has no translation for a node; "" if it has one.
std::string why_unsupported(const FlatNode& node);

}  // namespace arbalest
