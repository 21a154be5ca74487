// What the edits have in common: finding tensors and readers in a GraphProto, writing values.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>
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

// Names that nothing in the graph has.
class UnusedNames {
 public:
  explicit UnusedNames(const onnx::GraphProto& graph);
  // `wanted`, or with a number behind it; used from now on.
  std::string take(const std::string& wanted);

 private:
  std::unordered_set<std::string> used_;
};

// Shape and values, in the tensor's own float type.
void set_values(onnx::TensorProto& tensor, const Dims& dims, const std::vector<float>& values);
// Up to IR version 3 initializers are inputs too.
void add_initializer(onnx::ModelProto& model, onnx::TensorProto tensor);

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, const std::string& name);

// The edits: each changes the model and tells the user.
void replace_head(onnx::ModelProto& model, const HeadReplacement& head, uint64_t seed,
                  std::vector<std::string>& notices);
void reinitialise(ModelFile& file, const ModelEdits& edits, std::vector<std::string>& notices);
// Gives the number of copies made.
int untie_merged(const ModelFile& file, onnx::ModelProto& model, std::vector<std::string>& notices);

}  // namespace arbalest
