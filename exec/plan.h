// A graph made ready for one device: ordered steps, memory offsets, chosen algorithms. Immutable, shared by all
// replicas.
//
// Regions: parameters, gradients (same offsets) and states are flat and belong to the replica's owner; constants belong
// to the plan; the arena holds activations, feeds, outputs and scratch of one replica. All offsets are known here;
// running a step is calling a function that was bound to addresses when the replica was made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/kernel_set.h"
#include "exec/memory_plan.h"
#include "exec/parameter_layout.h"
#include "graph/graph.h"

namespace arbalest {

enum class Region : uint8_t { constants, parameters, gradients, states, arena };
inline constexpr int kRegionCount = 5;

struct Place {
  Region region = Region::arena;
  size_t offset = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

struct PlanStep {
  Prepared kernel;
  std::vector<Place> inputs;
  std::vector<Place> outputs;
  Place scratch;
  std::string name;     // the primitive, or "Reorder"
  std::string origin;   // the ONNX node
  std::string layouts;  // "abcd, aBcd8b -> aBcd8b"
};

// A tensor that the owner of a replica reads or writes between steps; row-major.
struct PlanTensor {
  std::string name;
  TensorType type;
  size_t bytes = 0;
  Place place;
  bool label = false;  // a feed that the loss compares with
};

struct PlanOptions {
  int threads = 1;  // threads of the learner that runs it
  // Layouts that another plan of the same model decided; null: this plan decides.
  std::shared_ptr<const ParameterLayout> parameters;
  std::shared_ptr<const ParameterLayout> states;
};

class Plan {
 public:
  const std::vector<PlanStep>& steps() const { return steps_; }
  const std::shared_ptr<const ParameterLayout>& parameters() const { return parameters_; }
  const std::shared_ptr<const ParameterLayout>& states() const { return states_; }
  const std::vector<PlanTensor>& feeds() const { return feeds_; }        // data inputs and the label
  const std::vector<PlanTensor>& computed() const { return computed_; }  // inputs that earlier segments give
  const std::vector<PlanTensor>& outputs() const { return outputs_; }    // model outputs, "loss", "correct"
  const PlanTensor* find_feed(const std::string& name) const;
  const PlanTensor* label() const;                               // the first label; null: the loss takes none
  const PlanTensor* find_output(const std::string& name) const;  // model outputs
  const PlanTensor* loss() const { return loss_ ? &*loss_ : nullptr; }
  const PlanTensor* correct() const { return correct_ ? &*correct_ : nullptr; }
  int threads() const { return threads_; }
  size_t arena_bytes() const { return arena_bytes_; }
  size_t constant_bytes() const { return constants_.size(); }
  const std::byte* constants() const { return constants_.data(); }
  double flops() const;  // of one run
  // Lifetimes of the arena's buffers and where they were put; what the verifier checks.
  const std::vector<Lifetime>& lifetimes() const { return lifetimes_; }
  const MemoryPlan& memory() const { return memory_; }

 private:
  friend class PlanBuilder;
  std::vector<PlanStep> steps_;
  std::shared_ptr<const ParameterLayout> parameters_;
  std::shared_ptr<const ParameterLayout> states_;
  std::vector<PlanTensor> feeds_;
  std::vector<PlanTensor> computed_;
  std::vector<PlanTensor> outputs_;
  std::optional<PlanTensor> loss_;
  std::optional<PlanTensor> correct_;
  int threads_ = 1;
  size_t arena_bytes_ = 0;
  AlignedBytes constants_;
  std::vector<Lifetime> lifetimes_;
  MemoryPlan memory_;
};

// The graph must be bound and verified. Errors: device, when memory does not suffice; whatever a kernel refuses, with
// the node's origin in front.
std::shared_ptr<const Plan> make_plan(const Graph& graph, const KernelSet& kernels, const PlanOptions& options);

// One line a step: "12 Conv conv1 jit:avx2 abcd -> aBcd8b", then the regions' sizes.
std::string to_text(const Plan& plan);

}  // namespace arbalest
