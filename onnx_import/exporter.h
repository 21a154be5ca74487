// Writes new values into a copy of an ONNX file: "change the numbers, nothing else".
//
// The bytes of the input are copied as they are, unknown fields included, but for the data of the tensors named, and
// the lengths of the messages around them. Without a new value the output is the input, byte for byte. A value is named
// by its initializer or, for a Constant node of the main graph, by the node's output. Tensors keep their element type
// (values are rounded to it) and their representation: raw data, typed field, external data. Exception: a sparse tensor
// becomes a dense one.
//
// External data of the whole model, changed or not, go to one file "<name of the output>.data" beside the output, in
// the input's order and alignment. Both files are complete on the disk before the first is renamed: a full disk or a
// lost folder leaves the old output and its data as they were, even when they are the input.
//
// Errors: io when it cannot be written; unsupported when the model would exceed 2 GiB; internal for a name that the
// model does not have, or a value of another shape.
#pragma once

#include <map>
#include <string>

#include "graph/host_tensor.h"

namespace arbalest {

struct ModelFile;  // model_file.h

void export_model(const ModelFile& model, const std::map<std::string, HostTensor>& trained,
                  const std::string& out_path);

}  // namespace arbalest
