#include "graph/map_form.h"

#include <algorithm>

namespace arbalest {

Shape shape_of(const Graph& graph, const MapForm& form) {
  Shape shape;
  for (const ValueId v : form.inputs) shape = broadcast(shape, graph.at(v).type.shape);
  return shape;
}

MapForm tidy(const Graph& graph, const MapForm& form) {
  std::vector<ValueId> read;
  const auto position = [&](ValueId v) {
    return static_cast<size_t>(std::find(read.begin(), read.end(), v) - read.begin());
  };
  std::vector<Scalar> replacements;
  for (size_t i = 0; i < form.inputs.size(); ++i) {
    const ValueId v = form.inputs[i];
    const size_t at = position(v);
    replacements.push_back(Scalar::input(static_cast<int>(at), graph.at(v).type.dtype));
    if (at == read.size() && uses_input(form.expression, static_cast<int>(i))) read.push_back(v);
  }
  MapForm result{substitute(form.expression, replacements), read};
  const Shape shape = shape_of(graph, form);
  for (size_t i = 0; i < form.inputs.size() && !(shape_of(graph, result) == shape); ++i) {
    if (position(form.inputs[i]) == read.size()) result.inputs.push_back(form.inputs[i]);
  }
  return result;
}

ValueId forwarded(const Graph& graph, const MapForm& form) {
  if (form.expression.op() != ScalarOp::input) return ValueId();
  const ValueId v = form.inputs[static_cast<size_t>(form.expression.input_index())];
  return graph.at(v).type.shape == shape_of(graph, form) ? v : ValueId();
}

}  // namespace arbalest
