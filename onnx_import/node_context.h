// The OpContext of one node, and what all nodes of an import share.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnx_import/importer.h"
#include "onnx_import/scope.h"

namespace arbalest {

// What the nodes of one import share.
struct ImportContext {
  const ModelFile& file;
  const ImportOptions& options;
  Scope& scope;
  ExportBatch batch;
  std::unordered_set<std::string> names_read;  // by needed nodes and outputs
  std::vector<std::string>& notices;
  int64_t next_stream;             // random stream of the next node of a subgraph
  std::string origin_prefix = {};  // "loop_0[3]/" inside a subgraph
  int64_t unrolled = 0;            // nodes of subgraphs translated so far
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
  bool straight_through() const override { return import_.options.straight_through; }
  BatchNormPolicy batch_norm() const override;
  const ExportBatch& export_batch() const override { return import_.batch; }
  int64_t random_stream() const override { return stream_; }
  TensorPtr told() const override;

  Value input(int i) override;
  Value named(const std::string& name) override { return import_.scope.find(name).tensor; }
  Item item(int i) override;
  int32_t onnx_type(int i) override;
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

  std::vector<Item> subgraph(const std::string& attribute, const std::vector<Item>& inputs,
                             const SubgraphCall& call) override;
  void give(int output, Item item) override { given_[output] = std::move(item); }
  Item given(int output) const;

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
  int64_t stream_;
  std::map<int, Item> given_;
  std::set<std::string> known_attributes_;
  std::set<int> known_inputs_;
};

}  // namespace arbalest
