// Builds graphs: emits primitives with inferred types and lets rules be written as arithmetic on Values.
//
// A Value is a light handle (builder, id). A default Value is "none": an absent optional input or a gradient of zero.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace arbalest {

class Builder;

class Value {
 public:
  Value() = default;
  Value(Builder* builder, ValueId id) : builder_(builder), id_(id) {}

  explicit operator bool() const { return static_cast<bool>(id_); }
  ValueId id() const { return id_; }
  Builder& builder() const { return *builder_; }
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DataType dtype() const { return type().dtype; }
  int rank() const { return type().rank(); }
  friend bool operator==(const Value& a, const Value& b) { return a.id_ == b.id_; }

 private:
  Builder* builder_ = nullptr;
  ValueId id_;
};

using Values = std::vector<Value>;

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Graph& graph() { return graph_; }
  void set_origin(std::string origin) { origin_ = std::move(origin); }
  const std::string& origin() const { return origin_; }
  Value value(ValueId id) { return Value(this, id); }

  Value add_input(const std::string& name, InputRole role, TensorType type, TensorPtr initial = nullptr);
  void add_output(const std::string& name, Value value);

  // Appends a node; types come from infer(), contents of small integer outputs from evaluate_contents().
  Values emit(Primitive primitive, const Values& inputs);
  Value emit_one(Primitive primitive, const Values& inputs) { return emit(std::move(primitive), inputs).at(0); }

  Value constant(TensorPtr tensor);
  Value scalar(double value, DataType type);  // rank 0
  Value integers(const std::vector<Dim>& values, const Shape& shape, DataType type = DataType::i64);

 private:
  Graph& graph_;
  std::string origin_;
};

// Elementwise: map([](Scalar x, Scalar y) { return select(x < y, x, 2 * y); }, a, b), with NumPy broadcasting.
Value map_expression(const Scalar& expression, const Values& inputs);
template <class F, class... V>
Value map(F&& f, const V&... values) {
  int i = 0;
  const auto next = [&](const Value& v) { return Scalar::input(i++, v.dtype()); };
  // Braces fix the order of evaluation.
  const std::vector<Scalar> inputs{next(values)...};
  const auto call = [&]<size_t... I>(std::index_sequence<I...>) { return f(inputs[I]...); };
  return map_expression(call(std::index_sequence_for<V...>{}), {values...});
}

// Elementwise with broadcasting; both of one type.
Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator*(const Value& a, double b);
Value operator+(const Value& a, double b);
Value operator-(const Value& a);
Value exp(const Value& x);
Value log(const Value& x);
Value sqrt(const Value& x);
Value cast(const Value& x, DataType to);  // x itself if it has the type

enum class Keep : uint8_t { no, yes };  // whether reduced axes stay with size 1
Value reduce(Reduction kind, const Value& x, const std::vector<int>& axes, Keep keep);
Value reshape(const Value& x, const Shape& shape);  // x itself if it has the shape
Value transpose(const Value& x, const std::vector<int>& permutation);
Value expand(const Value& x, const Shape& shape);
Value matmul(const Value& a, const Value& b, bool transpose_a = false, bool transpose_b = false);
Value concat(const Values& inputs, int axis);
// Elements start, start + step, ... (count of them) of one axis.
Value slice(const Value& x, int axis, const Dim& start, const Dim& count, int64_t step = 1);
Value gather(const Value& data, const Value& indices, int axis);
Value stop_gradient(const Value& x);
// Sums x over the axes along which `shape` was broadcast to x's shape, and reshapes to it.
Value sum_to_shape(const Value& x, const Shape& shape);

}  // namespace arbalest
