// ModelProto -> Graph.
//
// The graph has a data input for each model input that has no initializer, a parameter input for each initializer (or
// Constant, where the weights sit there) that trains, a state input for each running statistic that the step updates,
// and a Constant for the rest. Values carry the ONNX names, nodes the ONNX node as origin: "conv1 (Conv)".
//
// All faults are found before anything runs. Unsupported operators, unknown attributes and bad parameters of the whole
// model (subgraphs and functions included) are reported together in one Error.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "onnx_import/model.h"
#include "onnx_import/parameter_forms.h"
#include "onnx_import/parameters.h"

namespace arbalest {

enum class ImportMode : uint8_t {
  training,   // batch statistics in BatchNormalization, running statistics as states with updates
  inference,  // running statistics; Dropout is the identity
};

struct ImportOptions {
  ImportMode mode = ImportMode::training;
  // Outputs to keep: names of model outputs, or of any other value. Empty: all outputs that are tensors of numbers.
  std::vector<std::string> outputs;
  // Training: how BatchNormalization gets its statistics; the first glob that matches the node's name counts.
  BatchNormPolicy batch_norm = BatchNormPolicy::batch;
  std::vector<std::pair<std::string, BatchNormPolicy>> batch_norm_of;
  // Training: Dropout with a ratio above 0 drops. Off: the identity, as in the file's inference form.
  bool dropout = false;
  // Round, Floor, Ceil and Sign pass the gradient as if they were the identity.
  bool straight_through = false;
  // Symbols whose size is known. All others stay symbols, the batch among them.
  Bindings bindings;
  // Turns the first axis of the data inputs into the symbol "N" also where the file fixes it (with a notice for each
  // Reshape, Expand, ... that holds the fixed batch and is generalised). If the model cannot be generalised, the fixed
  // batch stays, with a notice.
  bool free_batch = true;
  // Data inputs that always have this value: Constants of the graph.
  std::map<std::string, TensorPtr> constants;
  ParameterSelection selection;
  ParameterForms forms;
  // Values that only the data tell and that the graph is made for, by the node that needs them (SegmentEnd::rebuild).
  std::map<std::string, TensorPtr> told;
};

struct Imported {
  Graph graph;
  std::vector<ParameterReport> parameters;  // in the file's order
  std::vector<std::string> notices;         // for the user: what was generalised, ignored, recognised
  std::string batch_symbol;                 // "N", "batch", ...; empty where the batch is fixed
  GivenForms forms;                         // for complete()
};

Imported import_model(const ModelFile& file, const ImportOptions& options);

// The inputs to feed as the file declares them, before any node is looked at.
struct DeclaredInputs {
  std::map<std::string, TensorType> types;
  std::string batch_symbol;  // as in Imported
};
DeclaredInputs declared_inputs(const ModelFile& file, const ImportOptions& options);

}  // namespace arbalest
