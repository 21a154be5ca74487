// The passes, and the list in which they run (passes.cc reads like a table of contents).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace arbalest {

// Computes the outputs of a small graph whose inputs are all constants; given by exec, which has kernels.
using Evaluator = std::function<std::vector<TensorPtr>(const Graph&)>;

struct PassOptions {
  Evaluator evaluate;          // none: constants are not folded
  std::set<std::string> skip;  // passes switched off, by name
  bool verify_each = false;    // verify the graph after each pass (tests and debug builds)
  std::function<void(const std::string& pass, double seconds, const Graph&)> observe;
};

// For a graph that is differentiated or never will be: what only matters to differentiation (StopGradient) goes.
void optimise(Graph& graph, const PassOptions& options);

// Nodes all of whose inputs are constant become Constants (unless the result is much larger than its inputs: over 64
// KiB and growing).
void fold_constants(Graph& graph, const Evaluator& evaluate);
// Equal primitives on equal inputs become one. RandomUniform differs by its stream.
void share_subexpressions(Graph& graph);
// Drops what no root needs. The other passes leave such nodes behind.
void drop_dead_nodes(Graph& graph);
// Reshape of Reshape, Transpose pairs, Transpose around MatMul, Expand before a broadcasting Map, reductions of size-1
// axes, nodes that change nothing.
void simplify_movement(Graph& graph);
// A Map read only by Maps of the same iteration shape moves into its readers (up to a limit of expression size); a
// cheap Map is recomputed in several readers instead of stored.
void fuse_maps(Graph& graph);

}  // namespace arbalest
