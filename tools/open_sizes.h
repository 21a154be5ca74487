// Sizes of axes that a model leaves open: given by the user, or taken from the data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/session.h"

namespace arbalest::tools {

// "NAME=SIZE"; usage error otherwise.
Bindings read_sizes(const std::vector<std::string>& given);

// Imports the model with the sizes that the data have on open axes other than the batch. The batch stays open too,
// unless a loop runs over its axis and the data tell its size. Usage error for a size of an axis that no input has.
Imported import_with_data(const ModelFile& model, ImportOptions options, const DataFacts& data);

// Binds the open axes of a shape to the sizes of a value; those bound already stay.
void bind_sizes(const Shape& shape, const Dims& sizes, Bindings& bindings);
// The open axes of a model's inputs, from the values that are fed.
Bindings sizes_of(const DeclaredInputs& declared, const std::map<std::string, HostTensor>& feeds);

}  // namespace arbalest::tools
