// What the inputs of ONNX's operators are to the tensors that they read: weights, statistics, bounds, shapes.
#pragma once

#include <string_view>

#include "onnx_import/flat_graph.h"
#include "onnx_import/parameters.h"

namespace arbalest {

// What a place among a node's inputs makes of a float tensor there.
enum class Effect : uint8_t {
  trains,
  fixed,    // never trains, wherever else it is read
  no_path,  // no gradient comes from here; other readers decide
};

struct Role {
  std::string_view op;
  int input;
  TensorUse use;
  Effect effect;
  std::string_view what;
};

// Of an input that no table lists: a bias of a sum, else a weight.
Role role_of(const onnx::NodeProto& node, int input);

// Whether a layer has a tensor that trains at this input.
bool is_weight_of_layer(const onnx::NodeProto& node, int input);

}  // namespace arbalest
