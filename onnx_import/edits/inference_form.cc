#include "onnx_import/edits/edit.h"
#include "onnx_import/flat_graph.h"

namespace arbalest {
namespace {

int64_t default_opset(const onnx::ModelProto& model) {
  int64_t opset = 0;
  for (const auto& import : model.opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx") opset = import.version();
  return opset;
}

void remove_attribute(onnx::NodeProto& node, const std::string& name) {
  for (int i = node.attribute_size() - 1; i >= 0; --i)
    if (node.attribute(i).name() == name) node.mutable_attribute()->DeleteSubrange(i, 1);
}

void set_attribute(onnx::NodeProto& node, const std::string& name, int64_t value) {
  remove_attribute(node, name);
  onnx::AttributeProto& a = *node.add_attribute();
  a.set_name(name);
  a.set_type(onnx::AttributeProto::INT);
  a.set_i(value);
}

}  // namespace

ModelPtr in_inference_form(const ModelPtr& model) {
  onnx::ModelProto proto = model->proto;
  onnx::GraphProto& graph = *proto.mutable_graph();
  const int64_t opset = default_opset(proto);
  std::vector<onnx::NodeProto> shown;  // statistics that were outputs of the node
  bool changed = false;
  for (auto& node : *graph.mutable_node()) {
    if (node.op_type() != "BatchNormalization" || !domain_of(node).empty()) continue;
    const auto* mode = find_attribute(node, opset < 7 ? "is_test" : "training_mode");
    const bool inference = opset < 7 ? mode && mode->i() != 0 : !mode || mode->i() == 0;
    if (node.output_size() == 1 && inference) continue;
    changed = true;
    for (int i = 1; i < node.output_size(); ++i) {
      const int statistic = i % 2 == 1 ? 3 : 4;  // the mean comes first, new or saved
      if (node.output(i).empty() || node.input_size() <= statistic) continue;
      onnx::NodeProto& identity = shown.emplace_back();
      identity.set_op_type("Identity");
      identity.add_input(node.input(statistic));
      identity.add_output(node.output(i));
    }
    node.mutable_output()->DeleteSubrange(1, node.output_size() - 1);
    if (opset >= 14) remove_attribute(node, "training_mode");
    if (opset < 7) set_attribute(node, "is_test", 1);
  }
  if (!changed) return model;
  const auto nodes = graph.node();
  graph.clear_node();
  for (onnx::NodeProto& node : shown) *graph.add_node() = std::move(node);
  for (const onnx::NodeProto& node : nodes) *graph.add_node() = node;
  return load_model_bytes(proto.SerializeAsString(), model->path);
}

}  // namespace arbalest
