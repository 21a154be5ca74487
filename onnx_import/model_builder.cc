#include "onnx_import/model_builder.h"

#include <onnx/onnx_pb.h>

#include <limits>

#include "onnx_import/data_type.h"

namespace arbalest {
namespace {

void write(const HostTensor& t, const std::string& name, onnx::TensorProto& out) {
  for (const int64_t d : t.dims) out.add_dims(d);
  out.set_data_type(onnx_data_type(t.dtype));
  if (!name.empty()) out.set_name(name);
  out.set_raw_data(t.bytes.data(), t.bytes.size());
}

void write(const ValueDescription& v, onnx::ValueInfoProto& out) {
  out.set_name(v.name);
  if (!v.type) return;
  auto* tensor = out.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx_data_type(v.type->dtype));
  auto* shape = tensor->mutable_shape();
  for (const Dim& d : v.type->shape) {
    if (d.is_constant()) {
      shape->add_dim()->set_dim_value(d.value());
    } else {
      shape->add_dim()->set_dim_param(to_string(d));
    }
  }
}

void write(const GraphBuilder& g, onnx::GraphProto& out);

struct AttributeWriter {
  onnx::AttributeProto& out;

  void operator()(int64_t v) const {
    out.set_type(onnx::AttributeProto::INT);
    out.set_i(v);
  }
  void operator()(float v) const {
    out.set_type(onnx::AttributeProto::FLOAT);
    out.set_f(v);
  }
  void operator()(const std::string& v) const {
    out.set_type(onnx::AttributeProto::STRING);
    out.set_s(v);
  }
  void operator()(const Ints& v) const {
    out.set_type(onnx::AttributeProto::INTS);
    for (const int64_t x : v) out.add_ints(x);
  }
  void operator()(const Floats& v) const {
    out.set_type(onnx::AttributeProto::FLOATS);
    for (const float x : v) out.add_floats(x);
  }
  void operator()(const Strings& v) const {
    out.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& x : v) out.add_strings(x);
  }
  void operator()(const HostTensor& v) const {
    out.set_type(onnx::AttributeProto::TENSOR);
    write(v, "", *out.mutable_t());
  }
  void operator()(const std::shared_ptr<const GraphBuilder>& v) const {
    out.set_type(onnx::AttributeProto::GRAPH);
    write(*v, *out.mutable_g());
  }
};

void write(const NodeDescription& n, onnx::NodeProto& out) {
  for (const std::string& name : n.inputs) out.add_input(name);
  for (const std::string& name : n.outputs) out.add_output(name);
  if (!n.name.empty()) out.set_name(n.name);
  out.set_op_type(n.op_type);
  if (!n.domain.empty()) out.set_domain(n.domain);
  for (const auto& [name, value] : n.attributes) {
    onnx::AttributeProto* attribute = out.add_attribute();
    attribute->set_name(name);
    std::visit(AttributeWriter{*attribute}, value.value());
  }
}

void write(const GraphBuilder& g, onnx::GraphProto& out) {
  out.set_name(g.name);
  for (const auto& n : g.nodes) write(n, *out.add_node());
  for (const auto& [name, value] : g.initializers) write(value, name, *out.add_initializer());
  for (const auto& v : g.inputs) write(v, *out.add_input());
  for (const auto& v : g.outputs) write(v, *out.add_output());
}

void write(const FunctionDescription& f, onnx::FunctionProto& out) {
  out.set_domain(f.domain);
  out.set_name(f.name);
  for (const auto& v : f.body.inputs) out.add_input(v.name);
  for (const auto& v : f.body.outputs) out.add_output(v.name);
  for (const auto& n : f.body.nodes) write(n, *out.add_node());
  onnx::OperatorSetIdProto* opset = out.add_opset_import();
  opset->set_domain("");
  opset->set_version(f.opset);
}

// The IR version of the first ONNX release that had the opset (docs/Versioning.md); 4 lets initializers be no inputs.
int64_t ir_version_of(int64_t opset) {
  constexpr std::pair<int64_t, int64_t> kFirstOpset[] = {{23, 11}, {21, 10}, {19, 9}, {15, 8},
                                                         {12, 7},  {11, 6},  {10, 5}};
  for (const auto& [first, ir] : kFirstOpset) {
    if (opset >= first) return ir;
  }
  return 4;
}

}  // namespace

AttributeValue::AttributeValue(GraphBuilder v) : value_(std::make_shared<const GraphBuilder>(std::move(v))) {}

GraphBuilder& GraphBuilder::input(std::string name, std::optional<TensorType> type) {
  inputs.push_back({std::move(name), std::move(type)});
  return *this;
}

GraphBuilder& GraphBuilder::output(std::string name, std::optional<TensorType> type) {
  outputs.push_back({std::move(name), std::move(type)});
  return *this;
}

GraphBuilder& GraphBuilder::initializer(std::string name, HostTensor value) {
  initializers.emplace_back(std::move(name), std::move(value));
  return *this;
}

GraphBuilder& GraphBuilder::node(std::string op_type, Strings inputs, Strings outputs, Attributes attributes,
                                 std::string name, std::string domain) {
  nodes.push_back({std::move(op_type), std::move(inputs), std::move(outputs), std::move(attributes), std::move(name),
                   std::move(domain)});
  return *this;
}

ModelBuilder::ModelBuilder(int64_t opset) : ir_version(ir_version_of(opset)), opsets{{"", opset}} {}

ModelBuilder& ModelBuilder::opset(std::string domain, int64_t version) {
  opsets.emplace_back(std::move(domain), version);
  return *this;
}

ModelBuilder& ModelBuilder::metadata(std::string key, std::string value) {
  metadata_props.emplace_back(std::move(key), std::move(value));
  return *this;
}

ModelBuilder& ModelBuilder::function(std::string domain, std::string name, GraphBuilder body) {
  functions.push_back({std::move(domain), std::move(name), std::move(body), opsets.front().second});
  return *this;
}

std::string ModelBuilder::bytes() const {
  onnx::ModelProto model;
  model.set_ir_version(ir_version);
  model.set_producer_name("arbalest");
  if (!doc_string.empty()) model.set_doc_string(doc_string);
  for (const auto& [domain, version] : opsets) {
    onnx::OperatorSetIdProto* opset = model.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  for (const auto& [key, value] : metadata_props) {
    onnx::StringStringEntryProto* entry = model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  for (const auto& f : functions) write(f, *model.add_functions());
  write(graph, *model.mutable_graph());
  if (model.ByteSizeLong() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw Error(ErrorKind::unsupported, "the model has {} bytes, more than the 2 GiB that one ONNX file may have",
                model.ByteSizeLong());
  }
  return model.SerializeAsString();
}

}  // namespace arbalest
