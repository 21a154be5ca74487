#include "onnx_import/tensor_readers.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace arbalest {
namespace {

// Nodes that move or convert the tensor at input 0 (Concat: at any), so that who reads their output reads the tensor.
constexpr std::string_view kPassing[] = {"Identity",  "Transpose", "Reshape",  "Flatten",        "Squeeze",
                                         "Unsqueeze", "Cast",      "CastLike", "Expand",         "Tile",
                                         "Split",     "Slice",     "Pad",      "QuantizeLinear", "DequantizeLinear"};

bool passes(const onnx::NodeProto& node, int input) {
  if (node.op_type() == "Concat") return true;
  return input == 0 && std::find(std::begin(kPassing), std::end(kPassing), node.op_type()) != std::end(kPassing);
}

using Places = std::vector<size_t>;  // of tensors

void add(Places& places, const Places& more) {
  places.insert(places.end(), more.begin(), more.end());
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
}

class ReaderSearch {
 public:
  explicit ReaderSearch(const std::vector<ModelTensor>& tensors) : readers_(tensors.size()) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i].in_subgraph) carried_[tensors[i].name] = {i};
    }
  }

  void visit(const std::vector<FlatNode>& nodes) {
    for (const FlatNode& node : nodes) visit(node);
  }

  std::vector<std::vector<TensorReader>> result() { return std::move(readers_); }

 private:
  void visit(const FlatNode& node) {
    const auto& inputs = node.proto->input();
    Places passed;
    for (int k = 0; k < inputs.size(); ++k) {
      const Places places = carried_by(inputs[k]);
      if (passes(*node.proto, k)) {
        add(passed, places);
      } else {
        for (const size_t t : places) readers_[t].push_back({&node, k});
      }
    }
    std::vector<Places> outputs(static_cast<size_t>(node.proto->output_size()), passed);
    for (const auto& [attribute, body] : node.bodies) visit_body(node, *body, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = node.proto->output(static_cast<int>(i));
      if (!name.empty() && !outputs[i].empty()) carried_[name] = std::move(outputs[i]);
    }
  }

  // Inside, the body's own names hide those outside.
  void visit_body(const FlatNode& node, const FlatBody& body, std::vector<Places>& outputs) {
    const bool is_loop = node.proto->op_type() == "Loop";
    const int first_input = node.proto->op_type() == "Scan" && node.opset < 9 ? 1 : 0;  // after the lengths
    std::vector<Places> inputs;
    for (int k = 0; k < body.graph->input_size(); ++k) {
      const int i = k + first_input;
      inputs.push_back(i < node.proto->input_size() ? carried_by(node.proto->input(i)) : Places());
    }
    const Carried outside = carried_;
    for (int k = 0; k < body.graph->input_size(); ++k)
      carried_[body.graph->input(k).name()] = inputs[static_cast<size_t>(k)];
    for (const FlatNode& inner : body.nodes) {
      for (const std::string& name : inner.proto->output()) carried_.erase(name);
    }
    for (const auto& tensor : body.tensors) carried_[tensor.first] = {tensor.second};
    visit(body.nodes);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int k = static_cast<int>(i) + (is_loop ? 1 : 0);  // after the condition
      if (k < body.graph->output_size()) add(outputs[i], carried_by(body.graph->output(k).name()));
    }
    carried_ = outside;
  }

  Places carried_by(const std::string& name) const {
    const auto found = carried_.find(name);
    return found == carried_.end() ? Places() : found->second;
  }

  using Carried = std::unordered_map<std::string, Places>;
  Carried carried_;  // what each name carries
  std::vector<std::vector<TensorReader>> readers_;
};

}  // namespace

std::vector<std::vector<TensorReader>> find_tensor_readers(const std::vector<ModelTensor>& tensors,
                                                           const FlatGraph& graph) {
  ReaderSearch search(tensors);
  search.visit(graph.nodes);
  return search.result();
}

}  // namespace arbalest
