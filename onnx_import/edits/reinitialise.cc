#include <algorithm>

#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/edits/edit.h"
#include "onnx_import/glob.h"

namespace arbalest {
namespace {

// The nodes that read a name, seen through nodes that pass it on.
ReaderPlace first_reader(onnx::GraphProto& graph, const std::string& name) {
  std::string at = name;
  for (int i = 0; i < graph.node_size(); ++i) {
    const std::vector<ReaderPlace> readers = readers_of(graph, at);
    if (readers.empty()) break;
    const std::string& op = readers[0].node->op_type();
    if (op != "Identity" && op != "Cast") return readers[0];
    at = readers[0].node->output(0);
  }
  throw Error(ErrorKind::usage, "'{}' is read by no layer: there are no start values for it", name);
}

// A ConstantOfShape with a known shape becomes an initializer.
void make_initializer(onnx::GraphProto& graph, int node_index) {
  const onnx::NodeProto node = graph.node(node_index);
  const onnx::TensorProto* shape = find_initializer(graph, node.input(0));
  if (!shape) throw Error(ErrorKind::unsupported, "'{}': its shape is no initializer", node.output(0));
  const std::string& raw = shape->raw_data();
  Dims dims(shape->int64_data().begin(), shape->int64_data().end());
  if (!raw.empty()) {
    dims.resize(raw.size() / sizeof(int64_t));
    std::copy_n(raw.data(), dims.size() * sizeof(int64_t), reinterpret_cast<char*>(dims.data()));
  }
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(node.output(0));
  const auto* value = find_attribute(node, "value");
  tensor.set_data_type(value ? value->t().data_type() : onnx::TensorProto::FLOAT);
  for (const int64_t d : dims) tensor.add_dims(d);
  graph.mutable_node()->DeleteSubrange(node_index, 1);
}

}  // namespace

void reinitialise(onnx::ModelProto& model, const std::string& pattern, uint64_t seed,
                  std::vector<std::string>& notices) {
  onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const auto& node = graph.node(i);
    if (node.op_type() == "ConstantOfShape" && glob_matches(pattern, node.output(0))) make_initializer(graph, i);
  }
  int64_t count = 0;
  for (auto& tensor : *graph.mutable_initializer()) {
    const auto type = data_type_of_onnx(tensor.data_type());
    if (!type || !is_float(*type) || !glob_matches(pattern, tensor.name())) continue;
    const Dims dims(tensor.dims().begin(), tensor.dims().end());
    set_values(tensor, dims, start_values(first_reader(graph, tensor.name()), dims, tensor.name(), seed));
    ++count;
  }
  if (count == 0) throw Error(ErrorKind::usage, "--reinitialise {}: no float tensor has such a name", pattern);
  notices.push_back(
      fmt::format("{} tensor{} that match '{}' begin with new values", count, count == 1 ? "" : "s", pattern));
}

}  // namespace arbalest
