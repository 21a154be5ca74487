// Walks that rebuild or evaluate an expression.
#include "graph/base/error.h"
#include "graph/scalar.h"
#include "graph/scalar_value.h"
#include "graph/scalar_walk.h"

namespace arbalest {

namespace {

// The expression with the nodes for which `choose` gives something replaced by that.
template <class F>
Scalar rebuild(const Scalar& e, F choose) {
  ScalarMap<Scalar> rebuilt;
  for (const Scalar* node : post_order(e)) {
    Scalar& result = rebuilt[node->identity()];
    if (std::optional<Scalar> chosen = choose(*node)) {
      result = *std::move(chosen);
      continue;
    }
    std::vector<Scalar> operands;
    bool changed = false;
    for (const Scalar& o : node->operands()) {
      operands.push_back(rebuilt.at(o.identity()));
      changed = changed || operands.back().identity() != o.identity();
    }
    if (!changed)
      result = *node;
    else if (node->op() == ScalarOp::cast)
      result = Scalar::cast(std::move(operands[0]), node->type());
    else
      result = Scalar::make(node->op(), std::move(operands));
  }
  return rebuilt.at(e.identity());
}

}  // namespace

Scalar substitute(const Scalar& e, std::span<const Scalar> replacements) {
  return rebuild(e, [&](const Scalar& node) -> std::optional<Scalar> {
    if (node.op() != ScalarOp::input) return {};
    const auto i = static_cast<size_t>(node.input_index());
    ensure(i < replacements.size() && replacements[i].type() == node.type(),
           "substitute: no replacement of type {} for input {}", name_of(node.type()), i);
    return replacements[i];
  });
}

Scalar replace(const Scalar& e, const Scalar& part, const Scalar& by) {
  ensure(part.type() == by.type(), "replace: {} by {}", name_of(part.type()), name_of(by.type()));
  ScalarNumbering numbering;
  const int wanted = numbering.number(part);
  numbering.number(e);
  return rebuild(e, [&](const Scalar& node) -> std::optional<Scalar> {
    if (numbering.find(node) == wanted) return by;
    return {};
  });
}

bool uses_input(const Scalar& e, int input_index) {
  for (const Scalar* node : post_order(e))
    if (node->op() == ScalarOp::input && node->input_index() == input_index) return true;
  return false;
}

double evaluate(const Scalar& e, std::span<const double> inputs) {
  ScalarMap<ScalarValue> values;
  for (const Scalar* node : post_order(e)) {
    ScalarValue& result = values[node->identity()];
    if (node->op() == ScalarOp::input) {
      const auto i = static_cast<size_t>(node->input_index());
      ensure(i < inputs.size(), "evaluate: input {} of {}", i, inputs.size());
      result.real = inputs[i];
      if (!is_float(node->type())) result = convert(result, DataType::f64, node->type());
    } else if (node->is_constant()) {
      if (is_float(node->type()))
        result.real = node->value();
      else
        result.integer = node->integer_value();
    } else {
      std::array<ScalarValue, 3> operands;
      const size_t n = node->operands().size();
      for (size_t i = 0; i < n; ++i) operands[i] = values.at(node->operands()[i].identity());
      const DataType type = node->operands().back().type();
      result = node->op() == ScalarOp::cast ? convert(operands[0], type, node->type())
                                            : apply(node->op(), type, {operands.data(), n});
    }
  }
  return to_double(values.at(e.identity()), e.type());
}

}  // namespace arbalest
