#include "onnx_import/known_number.h"

namespace arbalest {
namespace {

std::optional<double> number_within(const Value& v, int& steps_left) {
  const std::optional<std::vector<Dim>>& contents = v.builder().graph().at(v.id()).contents;
  if (contents && contents->size() == 1 && contents->front().is_constant())
    return static_cast<double>(contents->front().value());
  const Node* producer = v.builder().graph().producer(v.id());
  if (!producer || --steps_left < 0 || !(v.shape().element_count() == Dim(1))) return std::nullopt;
  if (const auto* constant = std::get_if<Constant>(&producer->primitive))
    return constant->value->to(DataType::f64).as<double>()[0];
  const auto* arithmetic = std::get_if<Map>(&producer->primitive);
  if (!arithmetic && !std::holds_alternative<Reshape>(producer->primitive)) return std::nullopt;
  std::vector<double> operands;
  for (const ValueId input : producer->inputs) {
    const auto operand = number_within(v.builder().value(input), steps_left);
    if (!operand) return std::nullopt;
    operands.push_back(*operand);
  }
  return arithmetic ? evaluate(arithmetic->expression, operands) : operands[0];
}

}  // namespace

std::optional<double> known_number(const Value& v) {
  int steps = 1000;
  return number_within(v, steps);
}

}  // namespace arbalest
