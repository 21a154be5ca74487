// TensorProto -> HostTensor.
//
// Raw data, typed fields and external data, of every element type that DataType has; sparse tensors become dense.
// Types, sizes and lengths are checked before memory is allocated. Errors start with "tensor 'name'"; unsupported:
// element types without numbers (string, complex), segments. Narrow types come in their storage type (narrow_type.h).
// Source: onnx.proto, TensorProto and SparseTensorProto.
#pragma once

#include "graph/host_tensor.h"
#include "onnx_import/model_file.h"

namespace arbalest {

HostTensor read_tensor(const onnx::TensorProto& tensor, const ModelFile& model);
HostTensor read_tensor(const onnx::SparseTensorProto& tensor, const ModelFile& model);

// The value of a Constant node, whichever attribute holds it. Numbers are scalars, lists have one axis (Constant-12).
HostTensor read_constant(const onnx::NodeProto& node, const ModelFile& model);

// The type of a tensor, checked: an element type that can be read, no negative size, a representable number of bytes.
struct TensorHeader {
  DataType dtype;  // as it is read
  Dims dims;
  uint64_t bytes;  // in the file
};
TensorHeader read_header(const onnx::TensorProto& tensor);

}  // namespace arbalest
