#include "graph/builder.h"

#include <algorithm>
#include <numeric>

#include "graph/contents.h"
#include "graph/map_form.h"
#include "graph/primitive_fields.h"

namespace arbalest {

// Only a file that leaves out an input can bring about a Value that is none.
const TensorType& Value::type() const {
  require(builder_ != nullptr, "an input that is needed is missing");
  return builder_->graph().at(id_).type;
}

Value Builder::add_input(const std::string& name, InputRole role, TensorType type, TensorPtr initial) {
  const ValueId id(graph_.values.size());
  graph_.values.push_back({std::move(type), name, NodeId(), std::nullopt});
  graph_.inputs.push_back({id, name, role, std::move(initial)});
  return value(id);
}

void Builder::add_output(const std::string& name, Value value) { graph_.outputs.push_back({value.id(), name}); }

Values Builder::emit(Primitive primitive, const Values& inputs) {
  std::vector<TensorType> input_types;
  std::vector<KnownTensor> known;
  Node node{std::move(primitive), {}, {}, origin_};
  for (const Value& v : inputs) {
    require(static_cast<bool>(v), "an input that is needed is missing");
    const ValueInfo& info = graph_.at(v.id());
    node.inputs.push_back(v.id());
    input_types.push_back(info.type);
    known.push_back({&info.type, info.contents ? &*info.contents : nullptr});
  }
  const std::vector<TensorType> types = infer(node.primitive, input_types);
  for (const TensorType& type : types) {
    if (type.shape.is_static()) element_count(type.dims());  // model error when no memory could hold it
  }
  const NodeId id(graph_.nodes.size());
  Values outputs;
  for (const TensorType& type : types) {
    const ValueId output(graph_.values.size());
    graph_.values.push_back({type, "", id, std::nullopt});
    node.outputs.push_back(output);
    outputs.push_back(value(output));
  }
  if (types.size() == 1) graph_.at(node.outputs[0]).contents = evaluate_contents(node.primitive, known, types[0]);
  graph_.nodes.push_back(std::move(node));
  return outputs;
}

Value Builder::constant(TensorPtr tensor) { return emit_one(Constant{std::move(tensor)}, {}); }

Value Builder::scalar(double value, DataType type) {
  HostTensor t(DataType::f64, {});
  t.as<double>()[0] = value;
  return constant(std::make_shared<const HostTensor>(t.to(type)));
}

Value Builder::integers(const std::vector<Dim>& values, const Shape& shape, DataType type) {
  ShapeTensor tensor{values, shape, type};
  const bool known = std::all_of(values.begin(), values.end(), [](const Dim& d) { return d.is_constant(); });
  if (known && shape.is_static()) return constant(tensor_of(tensor));
  return emit_one(std::move(tensor), {});
}

Value map_expression(const Scalar& expression, const Values& inputs) {
  ensure(!inputs.empty(), "an expression without inputs");
  Builder& builder = inputs[0].builder();
  MapForm form{expression, {}};
  for (const Value& v : inputs) form.inputs.push_back(v.id());
  form = tidy(builder.graph(), form);
  if (const ValueId v = forwarded(builder.graph(), form)) return builder.value(v);
  Values read;
  for (const ValueId v : form.inputs) read.push_back(builder.value(v));
  return builder.emit_one(Map{form.expression}, read);
}

namespace {

template <class F>
Value elementwise(F&& f, const Value& a, const Value& b) {
  require(a.dtype() == b.dtype(), "operands of {} and {}, expected one type", name_of(a.dtype()), name_of(b.dtype()));
  return map(f, a, b);
}

}  // namespace

Value operator+(const Value& a, const Value& b) {
  return elementwise([](const Scalar& x, const Scalar& y) { return x + y; }, a, b);
}
Value operator-(const Value& a, const Value& b) {
  return elementwise([](const Scalar& x, const Scalar& y) { return x - y; }, a, b);
}
Value operator*(const Value& a, const Value& b) {
  return elementwise([](const Scalar& x, const Scalar& y) { return x * y; }, a, b);
}
Value operator/(const Value& a, const Value& b) {
  return elementwise([](const Scalar& x, const Scalar& y) { return x / y; }, a, b);
}
Value operator*(const Value& a, double b) {
  return map([b](const Scalar& x) { return x * b; }, a);
}
Value operator+(const Value& a, double b) {
  return map([b](const Scalar& x) { return x + b; }, a);
}
Value operator-(const Value& a) {
  return map([](const Scalar& x) { return -x; }, a);
}
Value exp(const Value& x) {
  return map([](const Scalar& e) { return exp(e); }, x);
}
Value log(const Value& x) {
  return map([](const Scalar& e) { return log(e); }, x);
}
Value sqrt(const Value& x) {
  return map([](const Scalar& e) { return sqrt(e); }, x);
}
Value cast(const Value& x, DataType to) {
  return map([to](const Scalar& e) { return cast(e, to); }, x);
}

Value reduce(Reduction kind, const Value& x, const std::vector<int>& axes, Keep keep) {
  if (axes.empty()) return x;
  std::vector<int> ascending = axes;
  std::sort(ascending.begin(), ascending.end());
  return x.builder().emit_one(Reduce{kind, std::move(ascending), keep == Keep::yes}, {x});
}

Value reshape(const Value& x, const Shape& shape) {
  return x.shape() == shape ? x : x.builder().emit_one(Reshape{shape}, {x});
}

Value transpose(const Value& x, const std::vector<int>& permutation) {
  std::vector<int> identity(x.shape().size());
  std::iota(identity.begin(), identity.end(), 0);
  return permutation == identity ? x : x.builder().emit_one(Transpose{permutation}, {x});
}

Value expand(const Value& x, const Shape& shape) {
  return x.shape() == shape ? x : x.builder().emit_one(Expand{shape}, {x});
}

Value matmul(const Value& a, const Value& b, bool transpose_a, bool transpose_b) {
  return a.builder().emit_one(MatMul{transpose_a, transpose_b, /*bias=*/false}, {a, b});
}

Value concat(const Values& inputs, int axis) {
  ensure(!inputs.empty(), "nothing to concatenate");
  return inputs.size() == 1 ? inputs[0] : inputs[0].builder().emit_one(Concat{axis}, inputs);
}

Value slice(const Value& x, int axis, const Dim& start, const Dim& count, int64_t step) {
  const auto i = static_cast<size_t>(axis);
  Slice p{std::vector<Dim>(x.shape().size(), 0), x.shape(), Dims(x.shape().size(), 1)};
  ensure(i < p.start.size(), "axis {} of a rank-{} value", axis, p.start.size());
  if (start == Dim(0) && count == x.shape()[i] && step == 1) return x;
  p.start[i] = start;
  p.size[i] = count;
  p.step[i] = step;
  return x.builder().emit_one(std::move(p), {x});
}

Value gather(const Value& data, const Value& indices, int axis) {
  return data.builder().emit_one(Gather{axis}, {data, indices});
}

Value stop_gradient(const Value& x) { return x.builder().emit_one(StopGradient{}, {x}); }

Value sum_to_shape(const Value& x, const Shape& shape) {
  const Shape from = x.shape();
  const size_t lead = from.size() - shape.size();
  std::vector<int> axes;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool broadcast = i < lead || (shape[i - lead] == Dim(1) && !(from[i] == Dim(1)));
    if (broadcast && !(from[i] == Dim(1))) axes.push_back(static_cast<int>(i));
  }
  return reshape(reduce(Reduction::sum, x, axes, Keep::no), shape);
}

}  // namespace arbalest
