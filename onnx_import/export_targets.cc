#include "onnx_import/export_targets.h"

#include <vector>

#include "onnx_import/message.h"
#include "onnx_import/tensor_patch.h"
#include "onnx_import/tensor_reader.h"
#include "onnx_import/wire.h"

namespace arbalest {
namespace {

// The value of a field that must not be stored in parts, which protobuf would merge.
std::string_view single(std::string_view message, uint32_t number, std::string_view name) {
  std::optional<std::string_view> found;
  wire::Field f;
  for (wire::Reader reader(message); reader.next(f);) {
    if (f.number != number || f.type != wire::Type::bytes) continue;
    if (found) throw Error(ErrorKind::unsupported, "tensor '{}' is stored in parts; save it again with onnx", name);
    found = f.value;
  }
  ensure(found.has_value(), "the Constant '{}' has no tensor", name);
  return *found;
}

}  // namespace

ExportTargets::ExportTargets(std::string_view model, const std::map<std::string, HostTensor>& trained)
    : trained_(trained) {
  wire::Field f;
  for (wire::Reader reader(model); reader.next(f);) {
    if (f.type != wire::Type::bytes) continue;
    if (f.number == field::kModelGraph) add_graph(f.value);
    if (f.number == field::kModelTraining) add_algorithm(f.value);
  }
  in_main_graph_ = found_;
  while (!subgraphs_.empty()) {
    const std::string_view graph = subgraphs_.back();
    subgraphs_.pop_back();
    add_graph(graph);
  }
  for (const auto& [name, value] : trained) {
    ensure(found_.count(name) > 0, "the model has no initializer or Constant '{}' to write a value to", name);
  }
}

const HostTensor* ExportTargets::at(std::string_view message) const {
  const auto it = values_.find(message.data());
  return it == values_.end() ? nullptr : it->second;
}

void ExportTargets::add_graph(std::string_view graph) {
  wire::Field f;
  for (wire::Reader reader(graph); reader.next(f);) {
    if (f.type != wire::Type::bytes) continue;  // unknown to protobuf too
    if (f.number == field::kGraphInitializer) {
      if (const HostTensor* value = find(wire::find_bytes(f.value, field::kTensorName))) add_tensor(f.value, *value);
    } else if (f.number == field::kGraphSparseInitializer) {
      add_sparse(f.value);
    } else if (f.number == field::kGraphNode) {
      add_constant(f.value);
      add_subgraphs(f.value);
    }
  }
}

void ExportTargets::add_subgraphs(std::string_view node) {
  wire::Field f, g;
  for (wire::Reader reader(node); reader.next(f);) {
    if (f.number != field::kNodeAttribute || f.type != wire::Type::bytes) continue;
    for (wire::Reader attribute(f.value); attribute.next(g);) {
      if (g.number == field::kAttributeGraph && g.type == wire::Type::bytes) subgraphs_.push_back(g.value);
    }
  }
}

void ExportTargets::add_algorithm(std::string_view training_info) {
  wire::Field f;
  for (wire::Reader reader(training_info); reader.next(f);) {
    if (f.number == field::kTrainingAlgorithm && f.type == wire::Type::bytes) add_graph(f.value);
  }
}

void ExportTargets::add_tensor(std::string_view message, const HostTensor& value) {
  const TensorHeader old = read_header(parse_part<onnx::TensorProto>(message));
  require_same_shape(old.dims, value);
  values_[message.data()] = value.dtype == old.dtype ? &value : &converted_.emplace_back(value.to(old.dtype));
}

void ExportTargets::add_sparse(std::string_view message) {
  const auto values = wire::find_bytes(message, field::kSparseValues);
  const HostTensor* value = values ? find(wire::find_bytes(*values, field::kTensorName)) : nullptr;
  if (value == nullptr) return;
  const auto old = parse_part<onnx::SparseTensorProto>(message);
  require_same_shape(Dims(old.dims().begin(), old.dims().end()), *value);
  values_[message.data()] = &converted_.emplace_back(value->to(read_header(old.values()).dtype));
}

void ExportTargets::add_constant(std::string_view node) {
  std::optional<std::string_view> output;
  std::vector<std::string_view> attributes;
  wire::Field f;
  for (wire::Reader reader(node); reader.next(f);) {
    if (f.type != wire::Type::bytes) continue;
    if (f.number == field::kNodeOutput && !output) output = f.value;
    if (f.number == field::kNodeAttribute) attributes.push_back(f.value);
  }
  const std::string_view domain = wire::find_bytes(node, field::kNodeDomain).value_or("");
  if (wire::find_bytes(node, field::kNodeOpType) != "Constant" || !(domain.empty() || domain == "ai.onnx")) return;
  const HostTensor* value = find(output);
  if (value == nullptr) return;
  for (const std::string_view attribute : attributes) {
    if (wire::find_bytes(attribute, field::kAttributeName) == "value") {
      add_tensor(single(attribute, field::kAttributeTensor, *output), *value);
    } else {
      values_[attribute.data()] = value;
    }
  }
}

const HostTensor* ExportTargets::find(std::optional<std::string_view> name) {
  const auto it = trained_.find(std::string(name.value_or("")));
  if (it == trained_.end() || in_main_graph_.count(it->first)) return nullptr;
  found_.insert(it->first);
  return &it->second;
}

}  // namespace arbalest
