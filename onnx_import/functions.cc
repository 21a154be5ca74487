// Inlining of model-local functions.
#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "graph/base/error.h"
#include "onnx_import/flat_graph.h"

namespace arbalest {
namespace {

// A few lines of functions that call each other twice describe more nodes than memory holds.
constexpr size_t kMaxNodes = 1'000'000;

// Fields of messages that are newer than libonnx; protobuf keeps them as unknown fields.
constexpr int kFunctionAttributeProto = 11;
constexpr int kFunctionOverload = 13;
constexpr int kNodeOverload = 8;

using Opsets = std::map<std::string, int>;
using Names = std::unordered_map<std::string, std::string>;
using AttributeValues = std::map<std::string, onnx::AttributeProto>;

std::string canonical(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::vector<std::string> unknown_strings(const google::protobuf::Message& message, int number) {
  std::vector<std::string> found;
  const google::protobuf::UnknownFieldSet& fields = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      found.push_back(field.length_delimited());
    }
  }
  return found;
}

std::string overload_of(const google::protobuf::Message& message, int number) {
  const std::vector<std::string> found = unknown_strings(message, number);
  return found.empty() ? "" : found.back();
}

template <class Imports>
Opsets opsets_of(const Imports& imports) {
  Opsets opsets;
  for (const auto& import : imports) opsets[canonical(import.domain())] = static_cast<int>(import.version());
  return opsets;
}

struct Function {
  const onnx::FunctionProto* proto;
  Opsets opsets;
  AttributeValues defaults;
  std::string label;  // "domain.Name"
};

using FunctionKey = std::array<std::string, 3>;  // domain, name, overload
using Functions = std::map<FunctionKey, Function>;

Functions functions_of(const onnx::ModelProto& model) {
  Functions functions;
  for (const onnx::FunctionProto& f : model.functions()) {
    Function function{&f, opsets_of(f.opset_import()), {}, fmt::format("{}.{}", f.domain(), f.name())};
    for (const std::string& bytes : unknown_strings(f, kFunctionAttributeProto)) {
      onnx::AttributeProto attribute;
      require(attribute.ParseFromString(bytes), "function '{}': a default attribute cannot be read", function.label);
      function.defaults[attribute.name()] = attribute;
    }
    const FunctionKey key{canonical(f.domain()), f.name(), overload_of(f, kFunctionOverload)};
    require(functions.emplace(key, std::move(function)).second, "function '{}.{}' is defined twice", f.domain(),
            f.name());
  }
  return functions;
}

// Gives names, attributes and nested graphs of a node in a function body their meaning at one call.
struct Instance {
  Names names;         // of the body -> outside
  std::string prefix;  // for all other names
  AttributeValues attributes;

  std::string rename(const std::string& name) const {
    if (name.empty()) return name;
    const auto found = names.find(name);
    return found == names.end() ? prefix + name : found->second;
  }

  void apply(onnx::NodeProto& node) const {
    for (std::string& name : *node.mutable_input()) name = rename(name);
    for (std::string& name : *node.mutable_output()) name = rename(name);
    resolve_attributes(node);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) apply(*attribute.mutable_g());
      for (onnx::GraphProto& g : *attribute.mutable_graphs()) apply(g);
    }
  }

 private:
  void resolve_attributes(onnx::NodeProto& node) const {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> kept;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.ref_attr_name().empty()) {
        *kept.Add() = attribute;
        continue;
      }
      const auto given = attributes.find(attribute.ref_attr_name());
      if (given == attributes.end()) continue;  // not given and without a default: absent here too
      onnx::AttributeProto& value = *kept.Add();
      value = given->second;
      value.set_name(attribute.name());
    }
    node.mutable_attribute()->Swap(&kept);
  }

  void apply(onnx::GraphProto& graph) const {
    for (auto& value : *graph.mutable_input()) value.set_name(rename(value.name()));
    for (auto& value : *graph.mutable_output()) value.set_name(rename(value.name()));
    for (auto& tensor : *graph.mutable_initializer()) tensor.set_name(rename(tensor.name()));
    for (auto& tensor : *graph.mutable_sparse_initializer()) {
      tensor.mutable_values()->set_name(rename(tensor.values().name()));
    }
    for (onnx::NodeProto& node : *graph.mutable_node()) apply(node);
  }
};

// One graph or function body that is being walked.
struct Frame {
  const google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes;
  const Opsets* opsets;
  const Function* function = nullptr;  // none: the main graph
  Instance instance;
  std::string label_prefix;
  int next = 0;
};

class Inliner {
 public:
  explicit Inliner(const onnx::ModelProto& model)
      : functions_(functions_of(model)), opsets_(opsets_of(model.opset_import())) {
    stack_.push_back(Frame{&model.graph().node(), &opsets_, nullptr, {}, "", 0});
  }

  FlatGraph run() {
    unwind(0);
    return std::move(flat_);
  }

 private:
  // Visits the nodes of all frames above a depth of the stack.
  void unwind(size_t depth) {
    while (stack_.size() > depth) {
      Frame& frame = *std::prev(stack_.end());
      if (frame.next == frame.nodes->size()) {
        stack_.pop_back();
        continue;
      }
      visit(frame, frame.nodes->at(frame.next++));
      require(count_ <= kMaxNodes, "functions expand to more than {} nodes", kMaxNodes);
    }
  }

  // The nodes of a subgraph, which may call functions too.
  std::shared_ptr<FlatBody> body_of(const onnx::GraphProto& graph, const Opsets& opsets) {
    std::vector<FlatNode> around = std::exchange(flat_.nodes, {});
    const size_t depth = stack_.size();
    stack_.push_back(Frame{&graph.node(), &opsets, nullptr, {}, "", 0});
    unwind(depth);
    const auto body = std::make_shared<FlatBody>(FlatBody{&graph, std::move(flat_.nodes), {}});
    flat_.nodes = std::move(around);
    return body;
  }

  void visit(const Frame& frame, const onnx::NodeProto& original) {
    const onnx::NodeProto* node = &original;
    if (frame.function) {
      onnx::NodeProto& copy = flat_.inlined.emplace_back(original);
      copy.set_name(frame.label_prefix + node_name(original));
      frame.instance.apply(copy);
      node = &copy;
    }
    const FunctionKey key{domain_of(*node), node->op_type(), overload_of(*node, kNodeOverload)};
    const auto called = functions_.find(key);
    if (called != functions_.end()) return call(called->second, *node);
    add(*node, *frame.opsets);
  }

  void add(const onnx::NodeProto& node, const Opsets& opsets) {
    const auto opset = opsets.find(domain_of(node));
    const int index = static_cast<int>(count_++);
    FlatNode flat{&node,
                  opset == opsets.end() ? 1 : opset->second,
                  fmt::format("{} ({})", node_name(node), node.op_type()),
                  index,
                  {}};
    for (const onnx::AttributeProto& a : node.attribute()) {
      if (a.has_g()) flat.bodies[a.name()] = body_of(a.g(), opsets);
    }
    flat_.nodes.push_back(std::move(flat));
  }

  void call(const Function& function, const onnx::NodeProto& node) {
    for (const Frame& frame : stack_) {
      require(frame.function != &function, "function '{}' calls itself, at node '{}'; functions cannot be recursive",
              function.label, node_name(node));
    }
    const onnx::FunctionProto& f = *function.proto;
    require(node.input_size() <= f.input_size() && node.output_size() <= f.output_size(),
            "node '{}': a call of function '{}' with {} inputs and {} outputs, but the function has {} and {}",
            node_name(node), function.label, node.input_size(), node.output_size(), f.input_size(), f.output_size());
    Frame frame{&f.node(), &function.opsets, &function, {}, node_name(node) + "/", 0};
    frame.instance.prefix = value_prefix(node);
    frame.instance.attributes = attributes_of(function, node);
    for (int i = 0; i < f.input_size(); ++i) {
      frame.instance.names[f.input(i)] = i < node.input_size() ? node.input(i) : "";
    }
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      const auto [name, is_new] = frame.instance.names.emplace(f.output(i), node.output(i));
      if (!is_new) add_identity(name->second, node.output(i), *stack_.front().opsets);  // an input or output again
    }
    stack_.push_back(std::move(frame));
  }

  static std::string value_prefix(const onnx::NodeProto& node) {
    for (const std::string& name : node.output()) {
      if (!name.empty()) return name + "/";
    }
    return node.name() + "/";
  }

  static AttributeValues attributes_of(const Function& function, const onnx::NodeProto& node) {
    AttributeValues values = function.defaults;
    for (const onnx::AttributeProto& attribute : node.attribute()) values[attribute.name()] = attribute;
    return values;
  }

  void add_identity(const std::string& from, const std::string& to, const Opsets& opsets) {
    onnx::NodeProto& node = flat_.inlined.emplace_back();
    node.set_op_type("Identity");
    node.add_input(from);
    node.add_output(to);
    add(node, opsets);
  }

  Functions functions_;
  Opsets opsets_;
  std::deque<Frame> stack_;
  FlatGraph flat_;
  size_t count_ = 0;  // nodes so far
};

}  // namespace

FlatGraph inline_functions(const onnx::ModelProto& model) { return Inliner(model).run(); }

}  // namespace arbalest
