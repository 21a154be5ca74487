// Names and types of the inputs that are fed, and which symbol is the batch.
//
// The batch is the first axis. Where files give it different names in different inputs (as exporters do that number
// unnamed axes) it becomes one symbol; where they fix it, a new symbol, if asked for.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "onnx_import/importer.h"
#include "onnx_import/model_file.h"
#include "onnx_import/op_context.h"

namespace arbalest {

struct DataInput {
  std::string name;
  TensorType type;  // in the compute type
};

struct DataInputs {
  std::vector<DataInput> inputs;  // in the file's order; those of other kinds than tensors of numbers are left out
  ExportBatch batch;              // symbol: empty where no input has a batch
};

// `needed` are the names that nodes read: only for those must the type be known.
DataInputs find_data_inputs(const onnx::GraphProto& graph, const ImportOptions& options, bool free_batch,
                            const std::unordered_set<std::string>& needed);

}  // namespace arbalest
