// Which nodes read each tensor of a model: seen through nodes that only move or convert it (Identity, Transpose,
// Reshape, Cast, Expand, ...), and inside subgraphs, where a tensor may be captured or come in through an input.
#pragma once

#include <vector>

#include "onnx_import/flat_graph.h"
#include "onnx_import/trainability.h"

namespace arbalest {

struct TensorReader {
  const FlatNode* node;
  int input;
};

// For each tensor the nodes that read it, in order. Loop and Scan read the tensors that they pass into their body too.
std::vector<std::vector<TensorReader>> find_tensor_readers(const std::vector<ModelTensor>& tensors,
                                                           const FlatGraph& graph);

}  // namespace arbalest
