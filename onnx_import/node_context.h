// Translates nodes one by one into a graph: what the names of the model mean there, and the OpContext of one node.
//
// Invariant: a name has a value before a node that reads it is translated. Tensors of the model become inputs or
// Constants when they are first read.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnx_import/flat_graph.h"
#include "onnx_import/importer.h"
#include "onnx_import/op_context.h"
#include "onnx_import/trainability.h"

namespace arbalest {

// float32 for 16-bit floats: weights are kept and computed with in float32.
DataType compute_type(DataType file_type);
TensorPtr in_compute_type(const TensorPtr& tensor);

class Scope {
 public:
  Scope(Graph& graph, const std::vector<ModelTensor>& tensors, const std::vector<ParameterReport>& reports);

  Builder& builder() { return builder_; }
  void define(const std::string& name, Value value);
  Value find(const std::string& name);   // none: unknown, because the node that gives it failed
  Value state(const std::string& name);  // none: no tensor of the model has the name
  void update_state(const std::string& name, Value next);
  // Element type of the value in the file, where the file or a node tells one that is kept in a wider type.
  int32_t onnx_type(const std::string& name);
  void set_onnx_type(const std::string& name, int32_t type);
  // Of a tensor that the model holds, in the compute type; null for anything else.
  TensorPtr tensor(const std::string& name) const;

 private:
  Builder builder_;
  const std::vector<ModelTensor>& tensors_;
  std::unordered_map<std::string, size_t> tensor_index_;
  std::unordered_map<std::string, Value> values_;
  std::unordered_map<std::string, Value> states_;
  std::unordered_map<std::string, int32_t> onnx_types_;  // of 16-bit floats and narrow types
  std::unordered_map<std::string, size_t> updates_;      // state name -> place in graph.updates
};

// What the nodes of one import share.
struct ImportContext {
  const ModelFile& file;
  const ImportOptions& options;
  Scope& scope;
  ExportBatch batch;
  std::unordered_set<std::string> names_read;  // by needed nodes and outputs
  std::vector<std::string>& notices;
};

class NodeContext final : public OpContext {
 public:
  NodeContext(const FlatNode& node, int version, ImportContext& import);

  int version() const override { return version_; }
  int opset() const override { return node_.opset; }
  int input_count() const override { return node_.proto->input_size(); }
  int output_count() const override { return node_.proto->output_size(); }
  bool has_input(int i) override;
  bool output_named(int i) const override;
  bool output_used(int i) const override;
  Builder& builder() override { return import_.scope.builder(); }

  bool training() const override { return import_.options.mode == ImportMode::training; }
  bool dropout() const override { return import_.options.dropout && training(); }
  BatchNormPolicy batch_norm() const override;
  const ExportBatch& export_batch() const override { return import_.batch; }
  int64_t random_stream() const override { return node_.index; }

  Value input(int i) override;
  Value named(const std::string& name) override { return import_.scope.find(name); }
  int32_t onnx_type(int i) override { return import_.scope.onnx_type(input_name(i)); }
  void set_onnx_type(int output, int32_t type) override;
  std::vector<Dim> contents(int i) override;
  TensorPtr constant_tensor(int i) override;
  Value state_input(int i) override;
  void update_state(int i, Value next) override;

  bool has_attribute(const std::string& name) override { return find(name) != nullptr; }
  int64_t attribute(const std::string& name, int64_t otherwise) override;
  float attribute(const std::string& name, float otherwise) override;
  std::string attribute(const std::string& name, const std::string& otherwise) override;
  std::vector<int64_t> attribute(const std::string& name, const std::vector<int64_t>& otherwise) override;
  std::vector<float> float_list(const std::string& name) override;
  std::vector<std::string> string_list(const std::string& name) override;
  TensorPtr tensor_attribute(const std::string& name) override;
  TensorPtr constant_value() override;

  void notice(const std::string& text) override;

  // Model error naming an attribute or an input that the translation never asked for.
  void check_all_known() const;

 private:
  const onnx::AttributeProto* find(const std::string& name);
  const onnx::AttributeProto* find(const std::string& name, onnx::AttributeProto::AttributeType type);
  std::string input_name(int i) const;

  const FlatNode& node_;
  int version_;
  ImportContext& import_;
  std::set<std::string> known_attributes_;
  std::set<int> known_inputs_;
};

}  // namespace arbalest
