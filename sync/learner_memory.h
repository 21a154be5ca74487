// What a learner owns: its replicas, and its own parameters, gradients, optimiser state and running statistics.
#pragma once

#include <memory>
#include <vector>

#include "exec/device.h"
#include "exec/optimiser/optimiser.h"
#include "exec/segmented_replica.h"

namespace arbalest {

class LearnerMemory {
 public:
  // Allocates on the device, for batches of these sizes; the parameters and states start as the graph's initial values.
  LearnerMemory(const std::shared_ptr<PlanFamily>& plans, const Bindings& sizes, Device& device,
                const KernelSet& kernels, const Optimiser& optimiser, const StepCounter& counter);

  SegmentedReplica& replica() { return *replica_; }
  const SegmentedReplica& replica() const { return *replica_; }
  float* parameters() { return reinterpret_cast<float*>(parameters_.get()); }
  float* gradients() { return reinterpret_cast<float*>(gradients_.get()); }
  float* states() { return reinterpret_cast<float*>(states_.get()); }
  const std::vector<float*>& optimiser_states() const { return optimiser_arrays_; }
  double* measures() { return measures_.empty() ? nullptr : measures_.data(); }

 private:
  DeviceMemory parameters_, gradients_, states_;
  std::vector<DeviceMemory> optimiser_memory_;
  std::vector<float*> optimiser_arrays_;
  std::vector<double> measures_;
  std::unique_ptr<SegmentedReplica> replica_;
};

// Writes the initial values of a graph's parameters and states into regions laid out as the plan says.
void write_initial_values(const Graph& graph, const Plan& plan, std::byte* parameters, std::byte* states,
                          const KernelSet& kernels);

}  // namespace arbalest
