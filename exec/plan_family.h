// The plans of one graph: one for each segment and each set of sizes that came up, made when it is first asked for and
// kept while it is among the last kMostPlans used. Where the graph is made again for values that only the data tell,
// the plans of each such graph are a family of their own; the last kMostFamilies are kept.
//
// All of them have the parameters and states in the layout that the first one chose, so that they work on the same
// regions. May be asked by several threads; while a plan is made, the others wait.
#pragma once

#include <list>
#include <mutex>

#include "exec/compile.h"

namespace arbalest {

class PlanFamily {
 public:
  static constexpr size_t kMostPlans = 64, kMostFamilies = 16;

  // `options.gradients` holds for the last segment; the others have none.
  PlanFamily(Graph graph, const KernelSet& kernels, CompileOptions options);

  const Graph& graph() const { return graph_; }
  size_t segments() const { return graph_.segment_ends.size() + 1; }
  // The bindings have the sizes of the batch and what the ends before the segment give.
  std::shared_ptr<const Plan> plan(size_t segment, const Bindings& bindings);
  // For the values that the sources of an end have which makes the graph again (SegmentEnd::rebuild).
  std::shared_ptr<PlanFamily> rebuilt(size_t end, const std::vector<HostTensor>& sources);
  int64_t plans_made() const { return plans_made_; }  // those of other families not counted

 private:
  struct Entry {
    size_t segment;
    Bindings bindings;
    std::shared_ptr<const Plan> plan;
  };
  struct Rebuilt {
    size_t end;
    std::vector<HostTensor> sources;
    std::shared_ptr<PlanFamily> family;
  };
  std::shared_ptr<const Plan> make(size_t segment, const Bindings& bindings);

  const Graph graph_;
  const KernelSet& kernels_;
  CompileOptions options_;
  std::mutex mutex_;
  std::list<Entry> entries_;    // the last one used comes first
  std::list<Rebuilt> rebuilt_;  // likewise
  int64_t plans_made_ = 0;
};

}  // namespace arbalest
