#include "onnx_import/edits/edit.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "graph/base/error.h"
#include "graph/host_tensor.h"
#include "onnx_import/data_type.h"

namespace arbalest {
namespace {

// SplitMix64: a number in [-1, 1) that follows from its arguments.
double random_number(uint64_t seed, uint64_t index) {
  uint64_t z = seed + index * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

uint64_t hash_of(const std::string& name, uint64_t seed) {
  uint64_t h = 0xCBF29CE484222325u ^ seed;
  for (const char c : name) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  return h;
}

bool is_set(const onnx::NodeProto& node, const std::string& attribute) {
  const auto* a = find_attribute(node, attribute);
  return a && a->i() != 0;
}

enum class PlaceKind : uint8_t { weight, scale, bias };

PlaceKind kind_of(const ReaderPlace& place) {
  const std::string& op = place.node->op_type();
  if (op.ends_with("Normalization")) return place.input == 1 ? PlaceKind::scale : PlaceKind::bias;
  if (op == "Add" || op == "Sum") return PlaceKind::bias;
  if (op == "LSTM" || op == "GRU" || op == "RNN") return place.input == 3 ? PlaceKind::bias : PlaceKind::weight;
  return place.input == 2 ? PlaceKind::bias : PlaceKind::weight;
}

// How many inputs an output of the layer sums over.
int64_t fan_in(const ReaderPlace& place, const Dims& dims) {
  const std::string& op = place.node->op_type();
  if (dims.size() < 2) return dims.empty() ? 1 : dims[0];
  if (op == "Conv") return element_count(Dims(dims.begin() + 1, dims.end()));
  if (op == "Gemm") return is_set(*place.node, "transB") ? dims[1] : dims[0];
  if (op == "MatMul") return dims[dims.size() - 2];
  return dims.back();
}

}  // namespace

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

std::string unused_name(const onnx::GraphProto& graph, const std::string& wanted) {
  std::unordered_set<std::string> used;
  for (const auto& t : graph.initializer()) used.insert(t.name());
  for (const auto& t : graph.sparse_initializer()) used.insert(t.values().name());
  for (const auto& v : graph.input()) used.insert(v.name());
  for (const auto& node : graph.node()) used.insert(node.output().begin(), node.output().end());
  std::string name = wanted;
  for (int i = 2; used.count(name); ++i) name = fmt::format("{}_{}", wanted, i);
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

std::vector<float> uniform_values(int64_t count, double bound, const std::string& name, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  const uint64_t first = hash_of(name, seed);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(bound * random_number(first, i + 1));
  return values;
}

std::vector<float> start_values(const ReaderPlace& place, const Dims& dims, const std::string& name, uint64_t seed) {
  const int64_t count = element_count(dims);
  const PlaceKind kind = kind_of(place);
  if (kind != PlaceKind::weight)
    return std::vector<float>(static_cast<size_t>(count), kind == PlaceKind::scale ? 1 : 0);
  const int64_t inputs = std::max<int64_t>(fan_in(place, dims), 1);
  return uniform_values(count, 1 / std::sqrt(static_cast<double>(inputs)), name, seed);
}

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, const std::string& name) {
  for (const auto& a : node.attribute())
    if (a.name() == name) return &a;
  return nullptr;
}

ModelPtr edit_model(ModelPtr model, const ModelEdits& edits, std::vector<std::string>& notices) {
  onnx::ModelProto proto = model->proto;
  try {
    for (const HeadReplacement& head : edits.heads) replace_head(proto, head, edits.seed, notices);
    for (const std::string& pattern : edits.reinitialised) reinitialise(proto, pattern, edits.seed, notices);
    const int copies = edits.untie ? untie_merged(*model, proto, notices) : 0;
    if (edits.heads.empty() && edits.reinitialised.empty() && copies == 0) return model;
  } catch (const Error& e) {
    throw e.within(model->path);
  }
  return load_model_bytes(proto.SerializeAsString(), model->path);
}

}  // namespace arbalest
