// The door to ONNX files for the other folders: nothing of protobuf shows here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/host_tensor.h"

namespace arbalest {

struct ModelFile;  // model_file.h
using ModelPtr = std::shared_ptr<const ModelFile>;

ModelPtr load_model(const std::string& path);
ModelPtr load_model_bytes(std::string bytes, const std::string& path);  // path: for messages and external data

struct ModelFacts {
  std::string producer;  // "pytorch 2.5.0", empty where the file does not say
  int64_t ir_version = 0;
  int64_t opset = 0;  // of the default domain
  int64_t nodes = 0;  // of the main graph
  std::string doc_string;
};
ModelFacts facts(const ModelFile& model);

// Inputs without an initializer, and outputs, in the file's order.
std::vector<std::string> input_names(const ModelFile& model);
std::vector<std::string> output_names(const ModelFile& model);

// Dense initializers of the main graph. Text and other types that HostTensor lacks are left out.
std::map<std::string, HostTensor> read_initializers(const ModelFile& model);

// A TensorProto in a file of its own, as ONNX's test data come (input_0.pb). `name` receives the tensor's name.
HostTensor read_tensor_file(const std::string& path, std::string& name);

}  // namespace arbalest
