#include "exec/replica.h"

#include <chrono>
#include <cstring>

namespace arbalest {

Replica::Replica(std::shared_ptr<const Plan> plan, const ReplicaRegions& regions)
    : plan_(std::move(plan)), arena_(plan_->arena_bytes()) {
  base_[static_cast<int>(Region::constants)] = const_cast<std::byte*>(plan_->constants());
  base_[static_cast<int>(Region::parameters)] = regions.parameters;
  base_[static_cast<int>(Region::gradients)] = regions.gradients;
  base_[static_cast<int>(Region::states)] = regions.states;
  base_[static_cast<int>(Region::arena)] = arena_.data();
  const auto resolve = [&](const Place& p) -> void* { return base_[static_cast<int>(p.region)] + p.offset; };
  std::vector<void*> inputs, outputs;
  for (const PlanStep& step : plan_->steps()) {
    inputs.clear();
    outputs.clear();
    for (const Place& p : step.inputs) inputs.push_back(resolve(p));
    for (const Place& p : step.outputs) outputs.push_back(resolve(p));
    steps_.push_back(step.kernel.bind({inputs, outputs, resolve(step.scratch), &counter_}));
  }
}

void Replica::feed(const PlanTensor& tensor, const void* data) {
  if (tensor.bytes) std::memcpy(address(tensor), data, tensor.bytes);
}

void Replica::feed(const std::string& name, const HostTensor& value) {
  const PlanTensor* tensor = plan_->find_feed(name);
  if (!tensor) throw Error(ErrorKind::usage, "input '{}': the model has no such input", name);
  if (value.dtype != tensor->type.dtype || value.dims != tensor->type.dims())
    throw Error(ErrorKind::usage, "input '{}': got {} of shape {}, the model takes {}", name, name_of(value.dtype),
                to_string(value.dims), to_string(tensor->type));
  feed(*tensor, value.bytes.data());
}

HostTensor Replica::read(const PlanTensor& tensor) const {
  HostTensor value(tensor.type.dtype, tensor.type.dims());
  if (!value.bytes.empty())
    std::memcpy(value.bytes.data(), base_[static_cast<int>(tensor.place.region)] + tensor.place.offset,
                value.bytes.size());
  return value;
}

void Replica::run() {
  for (const BoundKernel& step : steps_) step();
}

void Replica::run_timed(std::vector<double>& seconds) {
  using Clock = std::chrono::steady_clock;
  seconds.resize(steps_.size());
  Clock::time_point before = Clock::now();
  for (size_t i = 0; i < steps_.size(); ++i) {
    steps_[i]();
    const Clock::time_point now = Clock::now();
    seconds[i] += std::chrono::duration<double>(now - before).count();
    before = now;
  }
}

double Replica::loss() const {
  ensure(plan_->loss() != nullptr, "the plan has no loss");
  const PlanTensor& t = *plan_->loss();
  const std::byte* p = base_[static_cast<int>(t.place.region)] + t.place.offset;
  return t.type.dtype == DataType::f64 ? *reinterpret_cast<const double*>(p) : *reinterpret_cast<const float*>(p);
}

int64_t Replica::correct() const {
  ensure(plan_->correct() != nullptr, "the plan counts no right predictions");
  const Place& place = plan_->correct()->place;
  return *reinterpret_cast<const int64_t*>(base_[static_cast<int>(place.region)] + place.offset);
}

Evaluator evaluator(const KernelSet& kernels) {
  return [&kernels](const Graph& graph) {
    Replica replica(make_plan(graph, kernels, {}), {});
    replica.run();
    std::vector<TensorPtr> results;
    for (const PlanTensor& t : replica.plan().outputs())
      results.push_back(std::make_shared<HostTensor>(replica.read(t)));
    return results;
  };
}

}  // namespace arbalest
