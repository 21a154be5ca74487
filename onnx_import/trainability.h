// Decides which tensors of a model train; the rules behind parameters.h.
//
// What a tensor is follows from the nodes that read it, seen through nodes that only move or convert it (Identity,
// Transpose, Reshape, Cast, Expand, ...).
#pragma once

#include <string>
#include <vector>

#include "graph/host_tensor.h"
#include "onnx_import/flat_graph.h"
#include "onnx_import/parameters.h"

namespace arbalest {

// An initializer, or the tensor of a Constant node (which has the name of the node's output).
struct ModelTensor {
  std::string name;
  TensorType type;  // the file's
  TensorPtr value;  // in the file's type; null where no needed node reads it
  bool is_constant_node = false;
  bool is_narrow = false;  // kept in a wider type than the file's (narrow_type.h)
  bool in_subgraph = false;
};

// A report for each tensor, in order. Usage error when a pattern of the selection matches nothing.
std::vector<ParameterReport> decide_trainability(const std::vector<ModelTensor>& tensors, const FlatGraph& graph,
                                                 const ParameterSelection& selection);

}  // namespace arbalest
