// New data in a serialised TensorProto or Constant attribute; all other fields stay as they are, byte for byte.
//
// The representation stays: raw data stay raw, typed fields stay typed, external data stay external. Views in the
// result point into the message given, or into the value.
#pragma once

#include <string>
#include <string_view>

#include "graph/host_tensor.h"
#include "onnx_import/model_file.h"
#include "onnx_import/pieces.h"

namespace arbalest {

void require_same_shape(const Dims& old, const HostTensor& value);  // internal error otherwise

// A TensorProto whose data lie in the message. The value has the tensor's type and shape.
Pieces patch_tensor(std::string_view message, const HostTensor& value);

// A TensorProto whose data lie in another file: where they lie from now on. `shared` says that other data are in that
// file too, so that the length must be told. A checksum of the file is dropped.
struct ExternalPlace {
  std::string location;
  uint64_t offset;
  uint64_t length;
  bool shared;
};
Pieces patch_external(std::string_view message, const ExternalPlace& place);

// A Constant's AttributeProto: value_float, value_floats, or sparse_value (which becomes a dense value).
Pieces patch_constant(std::string_view message, const onnx::AttributeProto& old, const HostTensor& value);

// A new dense TensorProto with the name and doc_string of the sparse one.
std::string dense_tensor(const onnx::SparseTensorProto& old, const HostTensor& value);

}  // namespace arbalest
