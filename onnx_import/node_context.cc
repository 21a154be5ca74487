#include "onnx_import/node_context.h"

#include "graph/base/error.h"
#include "onnx_import/glob.h"
#include "onnx_import/tensor_reader.h"
#include "onnx_import/translate.h"

namespace arbalest {
namespace {

std::string_view name_of_type(onnx::AttributeProto::AttributeType type) {
  switch (type) {
    case onnx::AttributeProto::FLOAT:
      return "a float";
    case onnx::AttributeProto::INT:
      return "an integer";
    case onnx::AttributeProto::STRING:
      return "a string";
    case onnx::AttributeProto::TENSOR:
      return "a tensor";
    case onnx::AttributeProto::FLOATS:
      return "a list of floats";
    case onnx::AttributeProto::INTS:
      return "a list of integers";
    case onnx::AttributeProto::STRINGS:
      return "a list of strings";
    default:
      return "another type";
  }
}

// Files of IR 3 and below may leave the type out.
onnx::AttributeProto::AttributeType attribute_type(const onnx::AttributeProto& a) {
  if (a.type() != onnx::AttributeProto::UNDEFINED) return a.type();
  if (a.has_f()) return onnx::AttributeProto::FLOAT;
  if (a.has_i()) return onnx::AttributeProto::INT;
  if (a.has_s()) return onnx::AttributeProto::STRING;
  if (a.has_t()) return onnx::AttributeProto::TENSOR;
  if (a.floats_size() > 0) return onnx::AttributeProto::FLOATS;
  if (a.ints_size() > 0) return onnx::AttributeProto::INTS;
  if (a.strings_size() > 0) return onnx::AttributeProto::STRINGS;
  return onnx::AttributeProto::UNDEFINED;
}

}  // namespace

NodeContext::NodeContext(const FlatNode& node, int version, ImportContext& import)
    : node_(node),
      version_(version),
      import_(import),
      stream_(import.scope.in_subgraph() ? import.next_stream++ : node.index) {}

std::string NodeContext::input_name(int i) const { return i < node_.proto->input_size() ? node_.proto->input(i) : ""; }

bool NodeContext::has_input(int i) {
  known_inputs_.insert(i);
  return !input_name(i).empty();
}

bool NodeContext::output_named(int i) const {
  return i < node_.proto->output_size() && !node_.proto->output(i).empty();
}

bool NodeContext::output_used(int i) const {
  return output_named(i) && import_.names_read.count(node_.proto->output(i)) > 0;
}

BatchNormPolicy NodeContext::batch_norm() const {
  for (const auto& [pattern, policy] : import_.options.batch_norm_of) {
    if (glob_matches(pattern, node_name(*node_.proto))) return policy;
  }
  return import_.options.batch_norm;
}

Item NodeContext::item(int i) {
  require(has_input(i), "input {} is missing", i);
  const Item item = import_.scope.find(input_name(i));
  ensure(static_cast<bool>(item), "input '{}' has no value yet", input_name(i));
  return item;
}

Value NodeContext::input(int i) {
  const Item found = item(i);
  require(!found.sequence, "input {} ('{}') is a sequence, expected a tensor", i, input_name(i));
  require(!found.absent, "input {} ('{}') is an optional without a value", i, input_name(i));
  return found.tensor;
}

int32_t NodeContext::onnx_type(int i) {
  input(i);
  return import_.scope.onnx_type(input_name(i));
}

void NodeContext::set_onnx_type(int output, int32_t type) {
  import_.scope.set_onnx_type(node_.proto->output(output), type);
}

std::vector<Dim> NodeContext::contents(int i) {
  const Value value = input(i);
  const auto& contents = builder().graph().at(value.id()).contents;
  if (contents) return *contents;
  require(!is_float(value.dtype()) || !constant_tensor(i), "input {} is {}, expected integers", i,
          name_of(value.dtype()));
  throw Error(ErrorKind::unsupported,
              "input {} ('{}', {}) is computed from the data; only what the model and the sizes of its inputs tell can "
              "be used here",
              i, input_name(i), to_string(value.type()));
}

TensorPtr NodeContext::constant_tensor(int i) {
  const Value value = input(i);
  const Node* producer = builder().graph().producer(value.id());
  const auto* constant = producer ? std::get_if<Constant>(&producer->primitive) : nullptr;
  return constant ? constant->value : nullptr;
}

Value NodeContext::state_input(int i) {
  require(has_input(i), "input {} is missing", i);
  const Value state = import_.scope.state(input_name(i));
  return state ? state : input(i);
}

void NodeContext::update_state(int i, Value next) {
  if (import_.scope.state(input_name(i))) import_.scope.update_state(input_name(i), next);
}

TensorPtr NodeContext::told() const {
  const auto known = import_.options.told.find(import_.origin_prefix + node_.label);
  return known == import_.options.told.end() ? nullptr : known->second;
}

const onnx::AttributeProto* NodeContext::find(const std::string& name) {
  known_attributes_.insert(name);
  for (const onnx::AttributeProto& a : node_.proto->attribute()) {
    if (a.name() == name) return &a;
  }
  return nullptr;
}

const onnx::AttributeProto* NodeContext::find(const std::string& name, onnx::AttributeProto::AttributeType type) {
  const onnx::AttributeProto* a = find(name);
  if (!a) return nullptr;
  const auto found = attribute_type(*a);
  const bool empty_list = found == onnx::AttributeProto::UNDEFINED;
  require(found == type || empty_list, "attribute '{}' is {}, expected {}", name, name_of_type(found),
          name_of_type(type));
  return a;
}

int64_t NodeContext::attribute(const std::string& name, int64_t otherwise) {
  const auto* a = find(name, onnx::AttributeProto::INT);
  return a ? a->i() : otherwise;
}

float NodeContext::attribute(const std::string& name, float otherwise) {
  const auto* a = find(name, onnx::AttributeProto::FLOAT);
  return a ? a->f() : otherwise;
}

std::string NodeContext::attribute(const std::string& name, const std::string& otherwise) {
  const auto* a = find(name, onnx::AttributeProto::STRING);
  return a ? a->s() : otherwise;
}

std::vector<int64_t> NodeContext::attribute(const std::string& name, const std::vector<int64_t>& otherwise) {
  const auto* a = find(name, onnx::AttributeProto::INTS);
  return a ? std::vector<int64_t>(a->ints().begin(), a->ints().end()) : otherwise;
}

std::vector<float> NodeContext::float_list(const std::string& name) {
  const auto* a = find(name, onnx::AttributeProto::FLOATS);
  return a ? std::vector<float>(a->floats().begin(), a->floats().end()) : std::vector<float>{};
}

std::vector<std::string> NodeContext::string_list(const std::string& name) {
  const auto* a = find(name, onnx::AttributeProto::STRINGS);
  return a ? std::vector<std::string>(a->strings().begin(), a->strings().end()) : std::vector<std::string>{};
}

TensorPtr NodeContext::tensor_attribute(const std::string& name) {
  const auto* a = find(name, onnx::AttributeProto::TENSOR);
  return a ? in_compute_type(std::make_shared<HostTensor>(read_tensor(a->t(), import_.file))) : nullptr;
}

TensorPtr NodeContext::constant_value() {
  for (const onnx::AttributeProto& a : node_.proto->attribute()) known_attributes_.insert(a.name());
  if (const TensorPtr known = import_.scope.own_tensor(node_.proto->output(0))) return known;
  return in_compute_type(std::make_shared<HostTensor>(read_constant(*node_.proto, import_.file)));
}

std::vector<Item> NodeContext::subgraph(const std::string& attribute, const std::vector<Item>& inputs,
                                        const SubgraphCall& call) {
  known_attributes_.insert(attribute);
  const auto found = node_.bodies.find(attribute);
  require(found != node_.bodies.end(), "attribute '{}' is missing", attribute);
  const FlatBody& body = *found->second;
  require(body.graph->input_size() == static_cast<int>(inputs.size()), "attribute '{}' has {} inputs, expected {}",
          attribute, body.graph->input_size(), inputs.size());
  const std::string around = import_.origin_prefix;
  import_.origin_prefix += node_name(*node_.proto) + (call.trip ? fmt::format("[{}]/", *call.trip) : "/");
  std::vector<Item> outputs;
  {
    Scope::Subgraph names(import_.scope, body, call.guard);
    for (size_t i = 0; i < inputs.size(); ++i)
      names.define_input(body.graph->input(static_cast<int>(i)).name(), inputs[i]);
    translate_nodes(body.nodes, import_);
    for (const auto& output : body.graph->output()) {
      outputs.push_back(import_.scope.find(output.name()));
      require(static_cast<bool>(outputs.back()), "attribute '{}': nothing gives the output '{}'", attribute,
              output.name());
    }
  }
  import_.origin_prefix = around;
  builder().set_origin(around + node_.label);
  return outputs;
}

Item NodeContext::given(int output) const {
  const auto found = given_.find(output);
  return found == given_.end() ? Item() : found->second;
}

void NodeContext::notice(const std::string& text) {
  import_.notices.push_back(fmt::format("{}: {}", describe(node_), text));
}

void NodeContext::check_all_known() const {
  for (const onnx::AttributeProto& a : node_.proto->attribute()) {
    require(known_attributes_.count(a.name()), "unknown attribute '{}' for version {} of the operator (opset {})",
            a.name(), version_, node_.opset);
  }
  for (int i = 0; i < node_.proto->input_size(); ++i) {
    require(input_name(i).empty() || known_inputs_.count(i),
            "input {} ('{}') is one more than version {} of the operator takes (opset {})", i, input_name(i), version_,
            node_.opset);
  }
}

}  // namespace arbalest
