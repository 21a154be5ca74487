#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "graph/base/error.h"
#include "onnx_import/edits/start_values.h"
#include "onnx_import/flat_graph.h"
#include "onnx_import/glob.h"

namespace arbalest {
namespace {

// A tensor of the layer, and the axis along which its outputs lie.
struct HeadTensor {
  onnx::TensorProto* tensor;
  int axis;
};

struct Head {
  onnx::NodeProto* node;
  HeadTensor weight;
  std::optional<HeadTensor> bias;
};

bool has_flag(const onnx::NodeProto& node, const char* attribute) {
  const auto* a = find_attribute(node, attribute);
  return a && a->i() != 0;
}

// The layer's weight: an initializer, perhaps behind a Transpose of a matrix.
std::optional<HeadTensor> weight_of(onnx::GraphProto& graph, const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  if ((op != "Gemm" && op != "MatMul" && op != "Conv") || node.input_size() < 2) return std::nullopt;
  std::string name = node.input(1);
  const auto* producer = find_producer(graph, name);
  const bool is_transposed = producer && producer->op_type() == "Transpose";
  if (producer && producer->op_type() != "Transpose" && producer->op_type() != "Identity") return std::nullopt;
  if (producer) name = producer->input(0);
  onnx::TensorProto* tensor = find_initializer(graph, name);
  if (!tensor || (op != "Conv" && tensor->dims_size() != 2)) return std::nullopt;
  if (op == "Conv") return HeadTensor{tensor, 0};
  const bool outputs_first = (op == "Gemm" && has_flag(node, "transB")) != is_transposed;
  return HeadTensor{tensor, outputs_first ? 0 : 1};
}

std::optional<HeadTensor> bias_of(onnx::GraphProto& graph, const onnx::NodeProto& node, int64_t outputs) {
  std::string name = node.op_type() != "MatMul" && node.input_size() > 2 ? node.input(2) : "";
  if (node.op_type() == "MatMul") {
    for (const ReaderPlace& reader : readers_of(graph, node.output(0)))
      if (reader.node->op_type() == "Add") name = reader.node->input(1 - reader.input);
  }
  onnx::TensorProto* tensor = name.empty() ? nullptr : find_initializer(graph, name);
  if (!tensor || tensor->dims_size() == 0 || tensor->dims(tensor->dims_size() - 1) != outputs) return std::nullopt;
  return HeadTensor{tensor, tensor->dims_size() - 1};
}

bool is_meant(const onnx::NodeProto& node, const std::string& weight, const std::string& layer) {
  const std::string& name = node.name();
  if (!name.empty() && (glob_matches(layer, name) || ("/" + name + "/").find("/" + layer + "/") != std::string::npos))
    return true;
  return node.output(0) == layer || weight == layer || weight == layer + ".weight";
}

Head find_head(onnx::GraphProto& graph, const std::string& layer) {
  std::vector<Head> found;
  std::vector<std::string> layers;
  for (auto& node : *graph.mutable_node()) {
    const auto weight = weight_of(graph, node);
    if (!weight) continue;
    layers.push_back(fmt::format("'{}'", node_name(node)));
    if (!is_meant(node, weight->tensor->name(), layer)) continue;
    found.push_back({&node, *weight, bias_of(graph, node, weight->tensor->dims(weight->axis))});
  }
  if (found.size() == 1) return found[0];
  const size_t shown = std::min<size_t>(layers.size(), 20);
  layers.erase(layers.begin(), layers.end() - static_cast<int64_t>(shown));
  throw Error(ErrorKind::usage,
              "--replace-head {}: {} layers have that name, expected one; the last Gemm, MatMul and Conv are {}", layer,
              found.size(), fmt::join(layers, ", "));
}

void renew(onnx::GraphProto& graph, const HeadTensor& old, int64_t classes, double bound, uint64_t seed) {
  const std::string name = old.tensor->name();
  if (readers_of(graph, name).size() > 1)
    throw Error(ErrorKind::unsupported, "'{}' is read by several nodes: the layer cannot be replaced alone", name);
  Dims dims(old.tensor->dims().begin(), old.tensor->dims().end());
  dims[static_cast<size_t>(old.axis)] = classes;
  set_values(*old.tensor, dims, uniform_values(element_count(dims), bound, name, seed));
  for (auto& input : *graph.mutable_input()) {  // IR version 3 lists initializers there
    if (input.name() != name || !input.type().tensor_type().has_shape()) continue;
    input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(old.axis)->set_dim_value(classes);
  }
}

std::unordered_set<std::string> names_behind(const onnx::GraphProto& graph, const onnx::NodeProto& node) {
  std::unordered_set<std::string> names(node.output().begin(), node.output().end());
  for (size_t before = 0; before != names.size();) {
    before = names.size();
    for (const auto& n : graph.node()) {
      if (std::any_of(n.input().begin(), n.input().end(), [&](const std::string& i) { return names.count(i) > 0; }))
        names.insert(n.output().begin(), n.output().end());
    }
  }
  names.erase("");
  return names;
}

// Declared shapes behind the layer: the axis of the classes follows; what was only noted in between goes.
void follow_shapes(onnx::GraphProto& graph, const onnx::NodeProto& node, int64_t old_classes, int64_t classes) {
  const std::unordered_set<std::string> changed = names_behind(graph, node);
  auto* noted = graph.mutable_value_info();
  noted->erase(std::remove_if(noted->begin(), noted->end(),
                              [&](const onnx::ValueInfoProto& v) { return changed.count(v.name()) > 0; }),
               noted->end());
  for (auto& output : *graph.mutable_output()) {
    if (!changed.count(output.name()) || !output.type().tensor_type().has_shape()) continue;
    auto& dims = *output.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim();
    const bool channels_first = node.op_type() == "Conv" && dims.size() > 1;
    const int axis = channels_first ? 1 : dims.size() - 1;
    if (axis >= 0 && dims[axis].dim_value() == old_classes) dims[axis].set_dim_value(classes);
  }
}

}  // namespace

void replace_head(onnx::ModelProto& model, const HeadReplacement& head, uint64_t seed,
                  std::vector<std::string>& notices) {
  onnx::GraphProto& graph = *model.mutable_graph();
  if (head.classes < 1) throw Error(ErrorKind::usage, "--replace-head {}={}: at least 1", head.layer, head.classes);
  const Head layer = find_head(graph, head.layer);
  if (const auto* group = find_attribute(*layer.node, "group"); group && group->i() > 1)
    throw Error(ErrorKind::unsupported, "{} is a convolution in groups: it cannot be replaced", node_name(*layer.node));
  const Dims dims(layer.weight.tensor->dims().begin(), layer.weight.tensor->dims().end());
  const int64_t old_classes = dims[static_cast<size_t>(layer.weight.axis)];
  const int64_t inputs = std::max<int64_t>(element_count(dims) / std::max<int64_t>(old_classes, 1), 1);
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  renew(graph, layer.weight, head.classes, bound, seed);
  if (layer.bias) renew(graph, *layer.bias, head.classes, bound, seed);
  follow_shapes(graph, *layer.node, old_classes, head.classes);
  notices.push_back(fmt::format("'{}' has {} outputs instead of {}, with new start values", node_name(*layer.node),
                                head.classes, old_classes));
}

}  // namespace arbalest
