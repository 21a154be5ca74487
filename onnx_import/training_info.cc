#include "onnx_import/training_info.h"

#include <unordered_set>

#include "graph/base/error.h"
#include "onnx_import/model_file.h"
#include "onnx_import/tensor_reader.h"

namespace arbalest {
namespace {

using BindingList = google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>;
using TensorIndex = std::map<std::string, const onnx::TensorProto*>;

// The initializers of the model's graph and of all algorithms: an algorithm may read what another one updates.
TensorIndex index_tensors(const onnx::ModelProto& model) {
  TensorIndex index;
  for (const auto& t : model.graph().initializer()) index.emplace(t.name(), &t);
  for (const auto& info : model.training_info())
    for (const auto& t : info.algorithm().initializer()) index.emplace(t.name(), &t);
  return index;
}

void read_keys(const BindingList& bindings, const std::string& where, const TensorIndex& index, const ModelFile& file,
               TrainingInfo& result) {
  for (const auto& b : bindings) {
    const auto found = index.find(b.key());
    require(found != index.end(), "{} names '{}', which is no initializer of the model or of an algorithm", where,
            b.key());
    result.tensors.emplace(b.key(), read_tensor(*found->second, file));
  }
}

void append(onnx::GraphProto& graph, const onnx::GraphProto& more) {
  for (const auto& node : more.node()) *graph.add_node() = node;
  for (const auto& t : more.initializer()) *graph.add_initializer() = t;
  for (const auto& v : more.value_info()) *graph.add_value_info() = v;
  std::unordered_set<std::string> inputs;
  for (const auto& v : graph.input()) inputs.insert(v.name());
  for (const auto& v : more.input())
    if (inputs.insert(v.name()).second) *graph.add_input() = v;
}

// What is assigned to becomes an input: it has another value each time.
void make_inputs(onnx::GraphProto& graph, const TrainingInfo& info) {
  auto& tensors = *graph.mutable_initializer();
  std::unordered_set<std::string> inputs;
  for (const auto& v : graph.input()) inputs.insert(v.name());
  for (int i = tensors.size() - 1; i >= 0; --i) {
    const onnx::TensorProto& t = tensors[i];
    if (!info.tensors.count(t.name())) continue;
    if (!inputs.count(t.name())) {
      onnx::ValueInfoProto& input = *graph.add_input();
      input.set_name(t.name());
      auto& type = *input.mutable_type()->mutable_tensor_type();
      type.set_elem_type(t.data_type());
      type.mutable_shape();
      for (const int64_t d : t.dims()) type.mutable_shape()->add_dim()->set_dim_value(d);
    }
    tensors.DeleteSubrange(i, 1);
  }
}

BoundGraph bound_graph(const ModelFile& file, onnx::GraphProto graph, const onnx::GraphProto& entry,
                       const BindingList& bindings, const std::string& where, const TrainingInfo& info) {
  std::unordered_set<std::string> written;
  for (const auto& node : graph.node()) written.insert(node.output().begin(), node.output().end());
  BoundGraph result;
  for (const auto& b : bindings) {
    require(written.count(b.value()) > 0, "{} takes '{}' from '{}', which no node writes", where, b.key(), b.value());
    result.assignments.emplace_back(b.key(), b.value());
  }
  for (const auto& v : entry.output()) result.outputs.push_back(v.name());
  make_inputs(graph, info);
  onnx::ModelProto proto = file.proto;
  proto.clear_training_info();
  *proto.mutable_graph() = std::move(graph);
  result.model = load_model_bytes(proto.SerializeAsString(), file.path);
  return result;
}

TrainingInfo read(const ModelFile& file) {
  TrainingInfo result;
  const TensorIndex index = index_tensors(file.proto);
  const auto name_of_entry = [](int i, const char* part) { return fmt::format("training_info {}: {}", i + 1, part); };
  for (int i = 0; i < file.proto.training_info_size(); ++i) {
    const auto& info = file.proto.training_info(i);
    read_keys(info.update_binding(), name_of_entry(i, "update_binding"), index, file, result);
    read_keys(info.initialization_binding(), name_of_entry(i, "initialization_binding"), index, file, result);
  }
  for (int i = 0; i < file.proto.training_info_size(); ++i) {
    const auto& info = file.proto.training_info(i);
    if (info.has_algorithm()) {
      onnx::GraphProto graph = file.proto.graph();
      append(graph, info.algorithm());
      result.algorithms.push_back(bound_graph(file, std::move(graph), info.algorithm(), info.update_binding(),
                                              name_of_entry(i, "update_binding"), result));
    }
    if (info.initialization_binding_size() == 0) continue;
    result.initializations.push_back(bound_graph(file, info.initialization(), info.initialization(),
                                                 info.initialization_binding(),
                                                 name_of_entry(i, "initialization_binding"), result));
  }
  return result;
}

}  // namespace

TrainingInfo read_training_info(const ModelPtr& model) {
  try {
    return read(*model);
  } catch (const Error& e) {
    throw e.within(model->path);
  }
}

}  // namespace arbalest
