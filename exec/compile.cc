#include "exec/compile.h"

#include "exec/replica.h"
#include "graph/differentiate.h"

namespace arbalest {

std::shared_ptr<const Plan> compile(Graph graph, const Bindings& bindings, const KernelSet& kernels,
                                    const CompileOptions& options) {
  graph.segment_ends.clear();  // all sizes are known
  bind(graph, bindings);
  if (options.gradients) differentiate(graph);
  PassOptions passes;
  passes.evaluate = evaluator(kernels);
  passes.skip = options.skip_passes;
  optimise(graph, passes);
  verify(graph);
  return make_plan(graph, kernels, {options.threads, options.parameters, options.states});
}

}  // namespace arbalest
