#include "onnx_import/model.h"

#include <fstream>
#include <iterator>
#include <unordered_set>

#include "onnx_import/model_file.h"
#include "onnx_import/tensor_reader.h"

namespace arbalest {

ModelPtr load_model(const std::string& path) { return std::make_shared<const ModelFile>(read_model_file(path)); }

ModelPtr load_model_bytes(std::string bytes, const std::string& path) {
  return std::make_shared<const ModelFile>(parse_model_file(std::move(bytes), path));
}

ModelFacts facts(const ModelFile& model) {
  const onnx::ModelProto& proto = model.proto;
  ModelFacts f;
  f.producer = proto.producer_name();
  if (!proto.producer_version().empty()) f.producer += " " + proto.producer_version();
  f.ir_version = proto.ir_version();
  for (const auto& o : proto.opset_import())
    if (o.domain().empty() || o.domain() == "ai.onnx") f.opset = o.version();
  f.nodes = proto.graph().node_size();
  f.doc_string = proto.doc_string();
  return f;
}

std::vector<std::string> input_names(const ModelFile& model) {
  const auto& graph = model.proto.graph();
  std::unordered_set<std::string> initializers;
  for (const auto& t : graph.initializer()) initializers.insert(t.name());
  for (const auto& t : graph.sparse_initializer()) initializers.insert(t.values().name());
  std::vector<std::string> names;
  for (const auto& input : graph.input())
    if (!initializers.count(input.name())) names.push_back(input.name());
  return names;
}

std::vector<std::string> output_names(const ModelFile& model) {
  std::vector<std::string> names;
  for (const auto& output : model.proto.graph().output()) names.push_back(output.name());
  return names;
}

std::map<std::string, HostTensor> read_initializers(const ModelFile& model) {
  std::map<std::string, HostTensor> tensors;
  for (const onnx::TensorProto& t : model.proto.graph().initializer()) {
    try {
      tensors.emplace(t.name(), read_tensor(t, model));
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::unsupported) throw e.within(model.path);
    }
  }
  return tensors;
}

HostTensor read_tensor_file(const std::string& path, std::string& name) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::io, "{}: cannot be opened", path);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  onnx::TensorProto proto;
  if (!proto.ParseFromString(bytes)) throw Error(ErrorKind::model, "{}: not a TensorProto", path);
  name = proto.name();
  ModelFile owner;
  owner.path = path;
  try {
    return read_tensor(proto, owner);
  } catch (const Error& e) {
    throw e.within(path);
  }
}

}  // namespace arbalest
