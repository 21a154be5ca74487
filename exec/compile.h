// From an imported graph to a plan: bind the symbols (those of segment ends too), differentiate, optimise, plan.
#pragma once

#include <memory>

#include "exec/plan.h"
#include "graph/passes/passes.h"

namespace arbalest {

struct CompileOptions {
  int threads = 1;
  bool gradients = true;                              // differentiate graph.loss
  std::shared_ptr<const ParameterLayout> parameters;  // as in PlanOptions
  std::shared_ptr<const ParameterLayout> states;
  std::set<std::string> skip_passes;
};

std::shared_ptr<const Plan> compile(Graph graph, const Bindings& bindings, const KernelSet& kernels,
                                    const CompileOptions& options);

}  // namespace arbalest
