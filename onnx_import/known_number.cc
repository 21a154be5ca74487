#include "onnx_import/known_number.h"

#include <algorithm>

#include "graph/contents.h"

namespace arbalest {
namespace {

using KnownNumbers = std::optional<std::vector<double>>;

// Element by element; operands have as many elements as the result, or one.
KnownNumbers mapped(const Scalar& expression, const std::vector<std::vector<double>>& operands, size_t count) {
  for (const std::vector<double>& x : operands)
    if (x.size() != count && x.size() != 1) return std::nullopt;
  std::vector<double> result(count);
  for (size_t i = 0; i < count; ++i) {
    std::vector<double> at;
    for (const std::vector<double>& x : operands) at.push_back(x[x.size() == 1 ? 0 : i]);
    result[i] = evaluate(expression, at);
  }
  return result;
}

KnownNumbers numbers_within(const Value& v, int& steps_left) {
  const Graph& graph = v.builder().graph();
  if (const std::optional<Contents>& contents = graph.at(v.id()).contents) {
    if (!std::all_of(contents->begin(), contents->end(), [](const Dim& d) { return d.is_constant(); })) return {};
    std::vector<double> numbers;
    for (const Dim& d : *contents) numbers.push_back(static_cast<double>(d.value()));
    return numbers;
  }
  const Dim count = v.shape().element_count();
  const Node* producer = graph.producer(v.id());
  if (!producer || --steps_left < 0 || !count.is_constant() || count.value() > kMaxContents) return {};
  if (const auto* constant = std::get_if<Constant>(&producer->primitive)) {
    const HostTensor wide = constant->value->to(DataType::f64);
    return std::vector<double>(wide.as<double>().begin(), wide.as<double>().end());
  }
  const auto* arithmetic = std::get_if<Map>(&producer->primitive);
  const bool joins = std::holds_alternative<Concat>(producer->primitive) && v.rank() == 1;
  if (!arithmetic && !joins && !std::holds_alternative<Reshape>(producer->primitive)) return {};
  std::vector<std::vector<double>> operands;
  for (const ValueId input : producer->inputs) {
    KnownNumbers operand = numbers_within(v.builder().value(input), steps_left);
    if (!operand) return {};
    operands.push_back(*std::move(operand));
  }
  if (arithmetic) return mapped(arithmetic->expression, operands, static_cast<size_t>(count.value()));
  std::vector<double> all;
  for (const std::vector<double>& operand : operands) all.insert(all.end(), operand.begin(), operand.end());
  return all;
}

}  // namespace

std::optional<std::vector<double>> known_numbers(const Value& v) {
  int steps = 1000;
  return numbers_within(v, steps);
}

std::optional<double> known_number(const Value& v) {
  if (!(v.shape().element_count() == Dim(1))) return std::nullopt;
  const auto numbers = known_numbers(v);
  return numbers ? std::optional(numbers->front()) : std::nullopt;
}

}  // namespace arbalest
