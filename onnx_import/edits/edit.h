// What the edits have in common: finding tensors and readers in a GraphProto, writing values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "onnx_import/edits/model_edits.h"
#include "onnx_import/model_file.h"

namespace arbalest {

onnx::TensorProto* find_initializer(onnx::GraphProto& graph, const std::string& name);
// The node that writes a name; null for an input or an initializer.
const onnx::NodeProto* find_producer(const onnx::GraphProto& graph, const std::string& name);

struct ReaderPlace {
  onnx::NodeProto* node;
  int input;
};
std::vector<ReaderPlace> readers_of(onnx::GraphProto& graph, const std::string& name);

// A name that nothing in the graph has: `wanted`, or with a number behind it.
std::string unused_name(const onnx::GraphProto& graph, const std::string& wanted);

// Shape and values, in the tensor's own float type.
void set_values(onnx::TensorProto& tensor, const Dims& dims, const std::vector<float>& values);

// The start values of a layer's tensor, by the place where it is read: weights uniform within 1 / sqrt(inputs of an
// output), scales 1, biases 0. The same seed and name give the same values.
std::vector<float> start_values(const ReaderPlace& place, const Dims& dims, const std::string& name, uint64_t seed);
// Uniform within +-bound.
std::vector<float> uniform_values(int64_t count, double bound, const std::string& name, uint64_t seed);

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, const std::string& name);

// The edits: each changes the model and tells the user.
void replace_head(onnx::ModelProto& model, const HeadReplacement& head, uint64_t seed,
                  std::vector<std::string>& notices);
void reinitialise(onnx::ModelProto& model, const std::string& pattern, uint64_t seed,
                  std::vector<std::string>& notices);
// Gives the number of copies made.
int untie_merged(const ModelFile& file, onnx::ModelProto& model, std::vector<std::string>& notices);

}  // namespace arbalest
