// A Map that is not a node yet: an expression and the values that its inputs stand for.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace arbalest {

struct MapForm {
  Scalar expression;
  std::vector<ValueId> inputs;
};

Shape shape_of(const Graph& graph, const MapForm& form);

// The same computation with each value read once, and only where the expression or the shape of the result needs it.
MapForm tidy(const Graph& graph, const MapForm& form);

// The value that the form merely passes on; none if it computes anything.
ValueId forwarded(const Graph& graph, const MapForm& form);

}  // namespace arbalest
