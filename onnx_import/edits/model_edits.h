// Changes to a model before it is trained: another output layer, new start values, copies of what exporters merged.
//
// The result is a model of its own, which import and export then take as "the file"; what is not named stays as it was.
// Errors: usage for a layer that is not there or not one, unsupported for one that cannot be replaced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "onnx_import/model.h"
#include "onnx_import/parameters.h"

namespace arbalest {

// A Gemm, MatMul or Conv gets `classes` outputs instead of those that it has, with new weights. It is found by the name
// of its node (also a glob, or a part of its path: "fc" is '/fc/Gemm'), by its output, or by its weight ("fc.weight").
struct HeadReplacement {
  std::string layer;
  int64_t classes = 0;
};

// The bound of a weight's start values (edits/start_values.h).
enum class StartRule : uint8_t { layer, kaiming, xavier };

struct ModelEdits {
  std::vector<HeadReplacement> heads;
  // Globs over initializers and outputs of ConstantOfShape: drawn anew as a new layer would be.
  std::vector<std::string> reinitialised;
  // By which rule; without patterns all that trains is drawn anew, with the running statistics beside it. In a model
  // without weights, what ConstantOfShape makes in a weight's place becomes one.
  std::optional<StartRule> start;
  ParameterSelection selection;  // what trains
  // Scales and biases of several layers that an exporter merged because they all were ones or zeros: a copy for each.
  bool untie = true;
  uint64_t seed = 1;  // of the new values
};

// The model itself where there is nothing to change.
ModelPtr edit_model(ModelPtr model, const ModelEdits& edits, std::vector<std::string>& notices);

// The model as it is used: BatchNormalization with its running statistics and one output. Outputs of the model that
// showed new statistics show the ones that it has.
ModelPtr in_inference_form(const ModelPtr& model);

}  // namespace arbalest
