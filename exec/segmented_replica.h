// The replicas of one learner: one for each segment that a step runs, on the same parameters, gradients and states.
//
// A step runs the segments in order. The sources of a segment's end are read, its sizes bound, and the next segment
// runs with the plan for them; the last one is the step itself. What an earlier segment computed is computed again:
// that is the price of a size that only the data tell. A replica is remade where its sizes differ from the last step's.
//
// A graph without segment ends has one segment, whose steps allocate nothing and look up nothing.
#pragma once

#include <memory>
#include <vector>

#include "exec/plan_family.h"
#include "exec/replica.h"

namespace arbalest {

class SegmentedReplica {
 public:
  SegmentedReplica(std::shared_ptr<PlanFamily> plans, const ReplicaRegions& regions);

  // The replica that takes the feeds of batches of these sizes; set at least once, before the first run.
  Replica& set_sizes(const Bindings& sizes);
  Replica& first() { return *replicas_.front(); }  // it takes the feeds
  StepCounter& counter() { return counter_; }

  void run();
  // The whole graph, with the results of the last run, after which alone it is there where there are several segments.
  Replica& whole();
  const Replica& whole() const { return const_cast<SegmentedReplica*>(this)->whole(); }

 private:
  Replica& replica(size_t run, std::shared_ptr<const Plan> plan);
  void run_segments();

  std::shared_ptr<PlanFamily> plans_;
  ReplicaRegions regions_;
  Bindings sizes_;
  StepCounter counter_;
  std::vector<std::unique_ptr<Replica>> replicas_{1};  // by their order in a step; null: not made yet
  Replica* whole_ = nullptr;
};

}  // namespace arbalest
