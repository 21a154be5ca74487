// Changes to models that leave them models: random bytes rarely survive the parser, these reach what is behind it.
#include <google/protobuf/message.h>

#include <cstring>
#include <functional>
#include <random>

#include "onnx_import/model_file.h"
#include "onnx_import/op_context.h"
#include "tests/onnx_import/fuzz/model_reader.h"

namespace arbalest {
namespace {

constexpr int64_t kNumbers[] = {
    0,          1,          -1,          2,          3,       -2,      7,         64,        1000,      65536,
    1000000,    0x7fffffff, -0x7fffffff, 0x80000000, 1 << 30, 1 << 20, 0x1ffffff, INT64_MAX, INT64_MIN, INT64_MAX / 8,
    10000000000};
constexpr float kFloatValues[] = {0, 1, -1, 0.5, 1e-30f, 1e30f, 3.4e38f, -3.4e38f, 1e9f, 100, INFINITY, -INFINITY, NAN};
constexpr const char* kAttributes[] = {"axis",      "axes",       "keepdims",    "perm", "pads",         "strides",
                                       "dilations", "mode",       "group",       "to",   "auto_pad",     "k",
                                       "epsilon",   "batch_dims", "num_outputs", "size", "kernel_shape", "equation",
                                       "blocksize"};

class Mutator {
 public:
  Mutator(onnx::ModelProto& model, uint32_t seed) : model_(model), random_(seed) { collect(*model.mutable_graph()); }

  void change() {
    switch (below(18)) {
      case 0:
      case 1:
        return change_operator();
      case 2:
      case 3:
      case 4:
        return change_attribute();
      case 5:
      case 6:
      case 7:
        return change_tensor();
      case 8:
      case 9:
        return change_inputs();
      case 10:
        return change_outputs();
      case 11:
        return change_nodes();
      case 12:
      case 13:
        return change_type();
      case 14:
        return change_version();
      case 15:
        return change_value_of_tensor();
      default:
        return change_any_field();
    }
  }

 private:
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }
  int64_t number() { return kNumbers[below(std::size(kNumbers))]; }

  void collect(onnx::GraphProto& graph) {
    graphs_.push_back(&graph);
    for (auto& t : *graph.mutable_initializer()) add(t);
    for (auto& v : *graph.mutable_input()) add(v.name());
    for (auto& node : *graph.mutable_node()) {
      nodes_.push_back(&node);
      for (auto& output : node.output()) add(output);
      for (auto& a : *node.mutable_attribute()) {
        attributes_.push_back(&a);
        if (a.has_t()) add(*a.mutable_t());
        if (a.has_g()) collect(*a.mutable_g());
      }
    }
  }
  void add(onnx::TensorProto& tensor) {
    tensors_.push_back(&tensor);
    add(tensor.name());
  }
  void add(const std::string& name) { names_.push_back(name); }

  onnx::NodeProto* node() { return nodes_.empty() ? nullptr : nodes_[below(nodes_.size())]; }
  onnx::GraphProto& graph() { return *graphs_[below(graphs_.size())]; }
  std::string name() { return names_.empty() || below(8) == 0 ? "" : names_[below(names_.size())]; }

  void change_operator() {
    onnx::NodeProto* n = node();
    if (!n) return;
    const auto& entries = translator().entries();
    auto entry = entries.begin();
    std::advance(entry, static_cast<int64_t>(below(entries.size())));
    n->set_op_type(entry->first.second);
    n->set_domain(entry->first.first);
  }

  void change_attribute() {
    if (attributes_.empty() || below(4) == 0) {
      if (onnx::NodeProto* n = node()) fill(*n->add_attribute());
      return;
    }
    onnx::AttributeProto& a = *attributes_[below(attributes_.size())];
    if (a.has_i() && below(4)) return a.set_i(number());
    if (a.has_f() && below(4)) return a.set_f(kFloatValues[below(std::size(kFloatValues))]);
    if (a.ints_size() > 0 && below(4)) {
      if (below(4) == 0) return a.add_ints(number());
      if (below(4) == 0) return a.mutable_ints()->RemoveLast();
      return a.set_ints(static_cast<int>(below(static_cast<size_t>(a.ints_size()))), number());
    }
    if (below(3) == 0) return a.set_name(kAttributes[below(std::size(kAttributes))]);
    fill(a);
  }

  void fill(onnx::AttributeProto& a) {
    a.Clear();
    a.set_name(kAttributes[below(std::size(kAttributes))]);
    switch (below(3)) {
      case 0:
        a.set_type(onnx::AttributeProto::INT);
        return a.set_i(number());
      case 1:
        a.set_type(onnx::AttributeProto::INTS);
        for (size_t i = below(5); i > 0; --i) a.add_ints(number());
        return;
      default:
        a.set_type(onnx::AttributeProto::FLOAT);
        return a.set_f(kFloatValues[below(std::size(kFloatValues))]);
    }
  }

  onnx::TensorProto* tensor() { return tensors_.empty() ? nullptr : tensors_[below(tensors_.size())]; }

  void change_tensor() {
    onnx::TensorProto* t = tensor();
    if (!t) return;
    switch (below(5)) {
      case 0:
        return t->set_data_type(static_cast<int32_t>(below(27)));
      case 1:
        return t->add_dims(number());
      case 2:
        if (t->dims_size() > 0) t->mutable_dims()->RemoveLast();
        return;
      case 3:
        if (t->dims_size() > 0) t->set_dims(static_cast<int>(below(static_cast<size_t>(t->dims_size()))), number());
        return;
      default:
        t->mutable_raw_data()->resize(below(64));
    }
  }

  // An element of a small tensor: a shape, a count, an index, a padding.
  void change_value_of_tensor() {
    onnx::TensorProto* t = nullptr;
    for (int i = 0; i < 8 && (!t || t->data_type() != onnx::TensorProto::INT64); ++i) t = tensor();
    if (!t) return;
    if (t->int64_data_size() > 0)
      return t->set_int64_data(static_cast<int>(below(static_cast<size_t>(t->int64_data_size()))), number());
    std::string& raw = *t->mutable_raw_data();
    if (raw.size() < sizeof(int64_t)) return;
    const int64_t n = number();
    const float f = kFloatValues[below(std::size(kFloatValues))];
    const bool is_float = t->data_type() == onnx::TensorProto::FLOAT;
    const size_t size = is_float ? sizeof f : sizeof n;
    std::memcpy(&raw[below(raw.size() / size) * size], is_float ? static_cast<const void*>(&f) : &n, size);
  }

  void change_inputs() {
    onnx::NodeProto* n = node();
    if (!n) return;
    const auto count = static_cast<size_t>(n->input_size());
    if (count == 0 || below(5) == 0) return n->add_input(name());
    const int i = static_cast<int>(below(count)), j = static_cast<int>(below(count));
    switch (below(3)) {
      case 0:
        return n->mutable_input()->SwapElements(i, j);
      case 1:
        return n->set_input(i, name());
      default:
        return n->mutable_input()->RemoveLast();
    }
  }

  void change_outputs() {
    onnx::NodeProto* n = node();
    if (!n) return;
    if (below(2) || n->output_size() == 0) return n->add_output("more" + std::to_string(below(1000)));
    if (below(2)) return n->set_output(static_cast<int>(below(static_cast<size_t>(n->output_size()))), "");
    auto& outputs = *graph().mutable_output();
    outputs.Add()->set_name(name());
  }

  void change_nodes() {
    onnx::GraphProto& g = graph();
    auto& nodes = *g.mutable_node();
    if (nodes.empty()) return;
    const int i = static_cast<int>(below(static_cast<size_t>(nodes.size())));
    if (below(2)) {
      nodes.SwapElements(i, nodes.size() - 1);
      nodes.RemoveLast();
    } else {
      onnx::NodeProto copy = nodes[i];
      for (std::string& output : *copy.mutable_output()) output += "'";
      *nodes.Add() = copy;
    }
    nodes_.clear();
    attributes_.clear();
    tensors_.clear();
    graphs_.clear();
    collect(*model_.mutable_graph());
  }

  void change_type() {
    onnx::GraphProto& g = graph();
    if (g.input_size() == 0) return;
    auto& type = *g.mutable_input(static_cast<int>(below(static_cast<size_t>(g.input_size()))))
                      ->mutable_type()
                      ->mutable_tensor_type();
    auto& dims = *type.mutable_shape()->mutable_dim();
    switch (below(4)) {
      case 0:
        return type.set_elem_type(static_cast<int32_t>(below(27)));
      case 1:
        return dims.Add()->set_dim_value(number());
      case 2:
        if (!dims.empty()) dims[static_cast<int>(below(static_cast<size_t>(dims.size())))].set_dim_value(number());
        return;
      default:
        if (!dims.empty())
          dims[static_cast<int>(below(static_cast<size_t>(dims.size())))].set_dim_param(below(2) ? "N" : "T");
    }
  }

  void change_version() {
    if (model_.opset_import_size() == 0) return;
    model_.mutable_opset_import(0)->set_version(static_cast<int64_t>(1 + below(28)));
  }

  // Any field of a node, an input or a tensor is cleared.
  void change_any_field() {
    google::protobuf::Message* message = &graph();
    if (onnx::NodeProto* n = node(); n && below(2)) message = n;
    if (onnx::TensorProto* t = tensor(); t && below(3) == 0) message = t;
    const auto* reflection = message->GetReflection();
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    if (fields.empty()) return;
    const auto* field = fields[below(fields.size())];
    if (!field->is_repeated()) return reflection->ClearField(message, field);
    const int size = reflection->FieldSize(*message, field);
    reflection->SwapElements(message, field, static_cast<int>(below(static_cast<size_t>(size))), size - 1);
    if (below(2)) reflection->RemoveLast(message, field);
    nodes_.clear();
    attributes_.clear();
    tensors_.clear();
    graphs_.clear();
    collect(*model_.mutable_graph());
  }

  onnx::ModelProto& model_;
  std::minstd_rand random_;
  std::vector<onnx::GraphProto*> graphs_;
  std::vector<onnx::NodeProto*> nodes_;
  std::vector<onnx::AttributeProto*> attributes_;
  std::vector<onnx::TensorProto*> tensors_;
  std::vector<std::string> names_;
};

}  // namespace

std::string mutated_model(const std::string& bytes, uint32_t seed) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes) || !model.has_graph()) return bytes;
  for (uint32_t changes = 1 + seed % 4; changes > 0; --changes) Mutator(model, seed * 31 + changes).change();
  return model.SerializeAsString();
}

}  // namespace arbalest
