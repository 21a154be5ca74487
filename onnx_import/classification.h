// What the tensors of a model are and which of them train, without translating its nodes.
#pragma once

#include <vector>

#include "onnx_import/importer.h"

namespace arbalest {

// As import_model() reports them, Constants that do not train left out. Errors: what keeps the model from being sorted,
// operators that are not supported.
std::vector<ParameterReport> classify_tensors(const ModelFile& file, const ImportOptions& options);

}  // namespace arbalest
