#include "onnx_import/edits/edit.h"

#include <algorithm>

#include "graph/base/error.h"
#include "graph/host_tensor.h"
#include "onnx_import/data_type.h"

namespace arbalest {

onnx::TensorProto* find_initializer(onnx::GraphProto& graph, const std::string& name) {
  for (auto& t : *graph.mutable_initializer())
    if (t.name() == name) return &t;
  return nullptr;
}

const onnx::NodeProto* find_producer(const onnx::GraphProto& graph, const std::string& name) {
  for (const auto& node : graph.node())
    if (std::find(node.output().begin(), node.output().end(), name) != node.output().end()) return &node;
  return nullptr;
}

std::vector<ReaderPlace> readers_of(onnx::GraphProto& graph, const std::string& name) {
  std::vector<ReaderPlace> readers;
  for (auto& node : *graph.mutable_node())
    for (int i = 0; i < node.input_size(); ++i)
      if (node.input(i) == name) readers.push_back({&node, i});
  return readers;
}

UnusedNames::UnusedNames(const onnx::GraphProto& graph) {
  for (const auto& t : graph.initializer()) used_.insert(t.name());
  for (const auto& t : graph.sparse_initializer()) used_.insert(t.values().name());
  for (const auto& v : graph.input()) used_.insert(v.name());
  for (const auto& node : graph.node()) used_.insert(node.output().begin(), node.output().end());
}

std::string UnusedNames::take(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; !used_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

void set_values(onnx::TensorProto& tensor, const Dims& dims, const std::vector<float>& values) {
  const auto type = data_type_of_onnx(tensor.data_type());
  if (!type || !is_float(*type))
    throw Error(ErrorKind::unsupported, "'{}' is no float tensor: it gets no new values", tensor.name());
  const HostTensor typed = HostTensor::f32(dims, values).to(*type);
  const std::string name = tensor.name(), doc = tensor.doc_string();
  const int32_t element = tensor.data_type();
  tensor.Clear();
  tensor.set_name(name);
  if (!doc.empty()) tensor.set_doc_string(doc);
  tensor.set_data_type(element);
  for (const int64_t d : dims) tensor.add_dims(d);
  tensor.set_raw_data(typed.bytes.data(), typed.bytes.size());
}

void add_initializer(onnx::ModelProto& model, onnx::TensorProto tensor) {
  constexpr int64_t kWithoutInputs = 4;  // the first IR version whose initializers are no inputs
  onnx::GraphProto& graph = *model.mutable_graph();
  if (model.ir_version() < kWithoutInputs) {
    auto& input = *graph.add_input();
    input.set_name(tensor.name());
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor.data_type());
    type.mutable_shape();
    for (const int64_t d : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(d);
  }
  *graph.add_initializer() = std::move(tensor);
}

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, const std::string& name) {
  for (const auto& a : node.attribute())
    if (a.name() == name) return &a;
  return nullptr;
}

ModelPtr edit_model(ModelPtr model, const ModelEdits& edits, std::vector<std::string>& notices) {
  ModelFile file{model->path, {}, model->proto};
  try {
    for (const HeadReplacement& head : edits.heads) replace_head(file.proto, head, edits.seed, notices);
    const int copies = edits.untie ? untie_merged(*model, file.proto, notices) : 0;
    if (edits.heads.empty() && edits.reinitialised.empty() && !edits.start && copies == 0) return model;
    reinitialise(file, edits, notices);
  } catch (const Error& e) {
    throw e.within(model->path);
  }
  return load_model_bytes(file.proto.SerializeAsString(), model->path);
}

}  // namespace arbalest
