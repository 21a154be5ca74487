// A plan of a graph with float64 parameters, one replica of it, and central differences of its loss.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/cpu/kernels/kernels.h"
#include "exec/plan.h"
#include "exec/replica.h"

namespace arbalest {

class RandomNumbers {
 public:
  double next() {  // in [-1, 1], the same in every run
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) * 0x1p-52 - 1;
  }

 private:
  uint64_t state_ = 1;
};

class PlanRunner {
 public:
  // `graph`: what the plan was made of; its parameters have their initial values.
  PlanRunner(std::shared_ptr<const Plan> plan, const Graph& graph) : plan_(std::move(plan)) {
    parameters_.resize(plan_->parameters()->bytes());
    gradients_.resize(parameters_.size());
    states_.resize(plan_->states()->bytes());
    for (const GraphInput& input : graph.inputs)
      if (input.role == InputRole::parameter) write(input.name, *input.initial);
    replica_ = std::make_unique<Replica>(plan_, ReplicaRegions{parameters_.data(), gradients_.data(), states_.data()});
  }

  const Plan& plan() const { return *plan_; }
  std::shared_ptr<const ParameterLayout> layout() const { return plan_->parameters(); }
  Replica& replica() { return *replica_; }

  void write(const std::string& name, const HostTensor& value) {
    write_slot(*plan_->parameters()->find(name), value, parameters_.data(), cpu::kernel_set());
  }
  double loss() {
    replica_->run();
    return replica_->loss();
  }
  HostTensor gradient(const std::string& name) {
    return read_slot(*plan_->parameters()->find(name), gradients_.data(), cpu::kernel_set());
  }

 private:
  std::shared_ptr<const Plan> plan_;
  AlignedBytes parameters_, gradients_, states_;
  std::unique_ptr<Replica> replica_;
};

// The derivative of the loss by each element of a parameter that has this value.
template <class Runner>
std::vector<double> central_differences(Runner& forward, const std::string& name, const HostTensor& value) {
  constexpr double kStep = 1e-5;
  std::vector<double> result;
  HostTensor moved = value;
  for (double& element : moved.as<double>()) {
    const double middle = element;
    element = middle + kStep;
    forward.write(name, moved);
    const double above = forward.loss();
    element = middle - kStep;
    forward.write(name, moved);
    const double below = forward.loss();
    element = middle;
    result.push_back((above - below) / (2 * kStep));
  }
  forward.write(name, value);
  return result;
}

}  // namespace arbalest
