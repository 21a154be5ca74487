// A graph as text (one node a line: "%7 = Conv(%3, %w) {strides [1, 1]} : float32 N x 20 x 24 x 24  # conv1") and as
// DOT.
#pragma once

#include <string>

#include "graph/graph.h"

namespace arbalest {

std::string to_text(const Graph& graph);
std::string to_dot(const Graph& graph);

}  // namespace arbalest
