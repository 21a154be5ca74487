#include "graph/passes/passes.h"

#include <chrono>

namespace arbalest {

namespace {

template <class Pass>
void run(Graph& graph, const PassOptions& options, const std::string& name, Pass&& pass) {
  if (options.skip.contains(name)) return;
  const auto start = std::chrono::steady_clock::now();
  pass(graph);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  if (options.verify_each) {
    try {
      verify(graph);
    } catch (const Error& e) {
      throw e.within("after pass '" + name + "'");
    }
  }
  if (options.observe) options.observe(name, elapsed.count(), graph);
}

}  // namespace

void optimise(Graph& graph, const PassOptions& options) {
  const auto fold = [&](Graph& g) {
    if (options.evaluate) fold_constants(g, options.evaluate);
  };
  run(graph, options, "drop dead nodes", drop_dead_nodes);
  run(graph, options, "fold constants", fold);
  run(graph, options, "simplify movement", simplify_movement);
  run(graph, options, "share subexpressions", share_subexpressions);
  run(graph, options, "drop dead nodes", drop_dead_nodes);
  run(graph, options, "fuse maps", fuse_maps);
  run(graph, options, "drop dead nodes", drop_dead_nodes);
}

}  // namespace arbalest
