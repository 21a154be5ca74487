#include "sync/learner_memory.h"

namespace arbalest {

void write_initial_values(const Graph& graph, const Plan& plan, std::byte* parameters, std::byte* states,
                          const KernelSet& kernels) {
  for (const GraphInput& input : graph.inputs) {
    if (input.role == InputRole::parameter)
      write_slot(*plan.parameters()->find(input.name), *input.initial, parameters, kernels);
    if (input.role == InputRole::state) write_slot(*plan.states()->find(input.name), *input.initial, states, kernels);
  }
}

LearnerMemory::LearnerMemory(const std::shared_ptr<PlanFamily>& plans, const Bindings& sizes, Device& device,
                             const KernelSet& kernels, const Optimiser& optimiser, const StepCounter& counter)
    : measures_(optimiser.measure_count()) {
  const auto plan = plans->plan(0, sizes);
  const size_t bytes = plan->parameters()->bytes();
  parameters_ = device.allocate(bytes);
  gradients_ = device.allocate(bytes);
  states_ = device.allocate(plan->states()->bytes());
  for (int i = 0; i < optimiser.state_count(); ++i) {
    optimiser_memory_.push_back(device.allocate(bytes));
    optimiser_arrays_.push_back(reinterpret_cast<float*>(optimiser_memory_.back().get()));
  }
  write_initial_values(plans->graph(), *plan, parameters_.get(), states_.get(), kernels);
  replica_ =
      std::make_unique<SegmentedReplica>(plans, ReplicaRegions{parameters_.get(), gradients_.get(), states_.get()});
  replica_->set_sizes(sizes);
  replica_->counter() = counter;
}

}  // namespace arbalest
