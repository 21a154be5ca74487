// Training as the model itself describes it: TrainingInfoProto of the ONNX IR specification.
//
// An iteration runs the algorithms one after the other. Each runs the model's graph and then its own on top of it;
// after it, the tensors that its update_binding names take the values of its outputs. The tensors are initializers of
// the model or of the algorithm, of any type. Errors: model, naming the entry, where a binding names no initializer or
// no output.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "onnx_import/model.h"

namespace arbalest {

struct BoundGraph {
  ModelPtr model;                                                // a model of its own; bound tensors are inputs of it
  std::vector<std::pair<std::string, std::string>> assignments;  // tensor, output
  std::vector<std::string> outputs;                              // of the entry, in its order
};

struct TrainingInfo {
  std::vector<BoundGraph> algorithms;
  std::vector<BoundGraph> initializations;    // without the model's graph; entries that have none are left out
  std::map<std::string, HostTensor> tensors;  // all that are assigned to, as the file has them
};

TrainingInfo read_training_info(const ModelPtr& model);  // no algorithms where the file describes none

}  // namespace arbalest
