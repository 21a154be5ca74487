#include "onnx_import/scope.h"

#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/narrow_type.h"

namespace arbalest {

DataType compute_type(DataType file_type) {
  return file_type == DataType::f16 || file_type == DataType::bf16 ? DataType::f32 : file_type;
}

TensorPtr in_compute_type(const TensorPtr& tensor) {
  const DataType type = compute_type(tensor->dtype);
  return type == tensor->dtype ? tensor : std::make_shared<HostTensor>(tensor->to(type));
}

Scope::Scope(Graph& graph, const std::vector<ModelTensor>& tensors, const std::vector<ParameterReport>& reports,
             const ParameterForms& wanted, GivenForms& given)
    : builder_(graph), tensors_(tensors), tensor_values_(add_parameters(builder_, tensors, reports, wanted, given)) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].value && !tensors[i].in_subgraph) main_tensors_[tensors[i].name] = i;
  frames_.push_back({&main_tensors_, {}, {}});
}

void Scope::define(const std::string& name, const Item& item) {
  Frame& frame = frames_.back();
  if (name.empty()) return;
  const auto tensor = frame.tensors->find(name);
  if (tensor != frame.tensors->end() && tensor_values_[tensor->second]) return;  // a Constant that trains is an input
  if (item.tensor) {
    ValueInfo& info = builder_.graph().at(item.tensor.id());
    if (info.name.empty()) info.name = name;
  }
  frame.items.emplace(name, item);
}

Item Scope::find(const std::string& name) { return find(name, frames_.size() - 1); }

Item Scope::find(const std::string& name, size_t depth) {
  Frame& frame = frames_[depth];
  const auto known = frame.items.find(name);
  if (known != frame.items.end()) return known->second;
  Item found;
  const auto own = frame.tensors->find(name);
  if (own != frame.tensors->end()) {
    found = value_of_tensor(own->second);
  } else if (depth > 0) {
    found = find(name, depth - 1);
  }
  if (!found) return found;
  if (frame.guard) found = guarded(found, frame.guard);
  frame.items.emplace(name, found);
  return found;
}

// None for a Constant that does not train: its node gives the value.
Value Scope::value_of_tensor(size_t index) {
  Value& value = tensor_values_[index];
  const ModelTensor& tensor = tensors_[index];
  if (value || tensor.is_constant_node) return value;
  value = builder_.constant(in_compute_type(tensor.value));
  builder_.graph().at(value.id()).name = tensor.name;
  return value;
}

Item Scope::guarded(const Item& item, const Value& guard) {
  if (item.tensor) return guarded(item.tensor, guard);
  if (!item.sequence) return item;
  Values values;
  for (const Value& v : *item.sequence) values.push_back(guarded(v, guard));
  return Item::of_sequence(std::move(values));
}

// The value itself; its gradient where the guard holds, else zero.
Value Scope::guarded(const Value& value, const Value& guard) {
  const Node* producer = builder_.graph().producer(value.id());
  const bool is_constant = producer && std::holds_alternative<Constant>(producer->primitive);
  if (!is_float(value.dtype()) || is_constant || builder_.graph().at(value.id()).contents) return value;
  return map([](const Scalar& g, const Scalar& x, const Scalar& same) { return select(g, x, same); }, guard, value,
             stop_gradient(value));
}

// Kept in float32 like the parameters, whatever the graph computes in.
Value Scope::state(const std::string& name) {
  for (size_t depth = frames_.size(); depth-- > 0;) {
    const auto own = frames_[depth].tensors->find(name);
    if (own == frames_[depth].tensors->end()) continue;
    const TensorPtr initial = in_compute_type(tensors_[own->second].value);
    Value& state = states_[name];
    if (!state) {
      const auto master = std::make_shared<const HostTensor>(initial->to_f32());
      state = builder_.add_input(name, InputRole::state, {DataType::f32, Shape(master->dims)}, master);
    }
    return cast(state, initial->dtype);
  }
  return {};
}

void Scope::update_state(const std::string& name, Value next) {
  std::vector<StateUpdate>& updates = builder_.graph().updates;
  const auto [place, is_new] = updates_.emplace(name, updates.size());
  const Value old = states_.at(name);
  if (is_new) updates.push_back({old.id(), old.id()});
  next = cast(next, DataType::f32);
  StateUpdate& update = updates[place->second];
  const Value current = builder_.value(update.next);
  for (size_t depth = frames_.size(); depth-- > 0;) {
    const Value& guard = frames_[depth].guard;
    if (!guard) continue;
    next = map([](const Scalar& g, const Scalar& a, const Scalar& b) { return select(g, a, b); }, guard, next, current);
  }
  update.next = next.id();  // of several nodes with one statistic the last counts
}

int32_t Scope::onnx_type(const std::string& name) {
  const auto known = onnx_types_.find(name);
  return known == onnx_types_.end() ? onnx_data_type(find(name).tensor.dtype()) : known->second;
}

void Scope::set_onnx_type(const std::string& name, int32_t type) {
  const auto dtype = data_type_of_onnx(type);
  const bool is_kept_wider = dtype ? compute_type(*dtype) != *dtype : narrow_type(type) != nullptr;
  if (is_kept_wider) onnx_types_[name] = type;
}

TensorPtr Scope::own_tensor(const std::string& name) const {
  const auto own = frames_.back().tensors->find(name);
  return own == frames_.back().tensors->end() ? nullptr : in_compute_type(tensors_[own->second].value);
}

Scope::Subgraph::Subgraph(Scope& scope, const FlatBody& body, Value guard) : scope_(scope) {
  scope.frames_.push_back({&body.tensors, guard, {}});
}

void Scope::Subgraph::define_input(const std::string& name, const Item& item) {
  Frame& frame = scope_.frames_.back();
  frame.items.emplace(name, frame.guard ? scope_.guarded(item, frame.guard) : item);
}

}  // namespace arbalest
