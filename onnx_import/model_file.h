// An ONNX file as it was read: its bytes, which export copies from, and the ModelProto parsed from them.
//
// Invariant: bytes parse to proto; proto has a graph, a known IR version (3 to 14) and opset imports (the default
// domain's not above 28); no graph of it names two initializers, or two inputs, alike. Fields newer than libonnx stay
// in the bytes and in the unknown fields of proto. Nodes, types and tensor data are not looked at.
//
// Errors name the file: io when it cannot be read, model when it is no ONNX model, unsupported when it is too new or
// more than 2 GiB.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

namespace arbalest {

struct ModelFile {
  std::string path;
  std::string bytes;
  onnx::ModelProto proto;
};

ModelFile read_model_file(const std::string& path);

// The same from memory. External data is looked for in the folder of the path; messages name it.
ModelFile parse_model_file(std::string bytes, const std::string& path);

}  // namespace arbalest
