// Test data as ONNX keeps it: a folder with input_0.pb ..., output_0.pb ..., in the order of the model's inputs and
// outputs.
//
// The model runs as its file says: a node in training mode uses the statistics of the batch. Shapes that depend on the
// value of an input (of Reshape, Pad, Range, ...) are known here: where the import needs such a value, every input of
// at most kMaxContents elements becomes a constant with the value of the test data.
//
// An output is right when every element is: |got - expected| <= 1e-3 |expected| + 1e-7, ONNX's own rule (float16: 2e-3,
// bfloat16: 1e-2; a unit in their last place is about that much); integers and bool are equal.
#pragma once

#include <string>
#include <vector>

namespace arbalest::tools {

// Prints a table for each folder; gives the exit code: 1 if an output is wrong.
int verify_test_data(const std::string& model, const std::vector<std::string>& folders, int threads);

}  // namespace arbalest::tools
