// One copy of the activations of a plan, bound to somebody's parameters, gradients and states.
//
// Makes no decision and allocates nothing after construction.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/plan.h"
#include "graph/passes/passes.h"

namespace arbalest {

// The flat regions that a replica works on. Gradients may be null for plans without gradients.
struct ReplicaRegions {
  std::byte* parameters = nullptr;
  std::byte* gradients = nullptr;
  std::byte* states = nullptr;
};

class Replica {
 public:
  Replica(std::shared_ptr<const Plan> plan, const ReplicaRegions& regions);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  const Plan& plan() const { return *plan_; }
  StepCounter& counter() { return counter_; }

  // Fills a feed, or a computed input, from dense row-major memory of its type and size.
  void feed(const PlanTensor& tensor, const void* data);
  void feed(const std::string& name, const HostTensor& value);  // usage error when name, type or sizes do not fit
  std::byte* address(const PlanTensor& tensor) {
    return base_[static_cast<int>(tensor.place.region)] + tensor.place.offset;
  }
  HostTensor read(const PlanTensor& tensor) const;

  void run();
  // Runs and adds each step's seconds to `seconds` (one entry a step).
  void run_timed(std::vector<double>& seconds);

  double loss() const;  // of the last run
  int64_t correct() const;

 private:
  std::shared_ptr<const Plan> plan_;
  AlignedBytes arena_;
  std::byte* base_[kRegionCount];
  StepCounter counter_;
  std::vector<BoundKernel> steps_;
};

// Evaluates graphs of constants with the given kernels: for the pass that folds constants.
Evaluator evaluator(const KernelSet& kernels);

}  // namespace arbalest
