#include "sync/trainer.h"

#include <cmath>
#include <cstring>

#include "exec/cpu/cpu_device.h"
#include "exec/optimiser/average.h"

namespace arbalest {
namespace {

// Consecutive cores for each learner where there are enough; otherwise the operating system decides.
std::vector<int> cores_of(int learner, int learners, int threads) {
  const std::vector<int> cores = available_cores();
  if (static_cast<size_t>(learners) * threads > cores.size()) return {};
  return {cores.begin() + learner * threads, cores.begin() + (learner + 1) * threads};
}

std::vector<ParameterSegment> segments_of(const ParameterLayout& layout, const TrainerOptions& options) {
  std::vector<ParameterSegment> segments;
  for (const ParameterSlot& slot : layout.slots()) {
    const auto begin = static_cast<int64_t>(slot.offset / sizeof(float));
    ParameterSegment segment{
        {begin, begin + static_cast<int64_t>(slot.bytes() / sizeof(float))}, 1, options.optimiser.weight_decay};
    const auto setting = options.parameters.find(slot.name);
    if (setting != options.parameters.end()) {
      segment.rate = setting->second.rate;
      segment.weight_decay = setting->second.weight_decay.value_or(segment.weight_decay);
    }
    segments.push_back(segment);
  }
  return segments;
}

std::string stream_name(int learner) { return fmt::format("learner {}", learner); }

// Records how long learners wait for their batches, inside the tasks that need them.
Trainer::LoadBatch traced(Trainer::LoadBatch load, const TrainerOptions& options) {
  if (options.trace == nullptr) return load;
  std::vector<Trace::Row*> rows;
  for (int j = 0; j < options.learners * options.devices; ++j) rows.push_back(&options.trace->row(stream_name(j)));
  return [load = std::move(load), rows, &name = options.trace->keep("input")](int learner, Replica& replica) {
    const Trace::Clock::time_point begin = Trace::Clock::now();
    load(learner, replica);
    rows[learner]->add(name, Trace::kNoIteration, begin, Trace::Clock::now());
  };
}

void check_float32(const Graph& graph) {
  for (const GraphInput& input : graph.inputs) {
    const DataType type = graph.at(input.value).type.dtype;
    const bool flat = input.role == InputRole::parameter || input.role == InputRole::state;
    if (flat && type != DataType::f32)
      throw Error(ErrorKind::unsupported, "parameter '{}' is computed in {}; training works in float32", input.name,
                  name_of(type));
  }
}

}  // namespace

std::unique_ptr<Synchroniser> make_synchroniser(const TrainerOptions& options, const Learners& learners,
                                                Collective& collective) {
  switch (options.sync) {
    case SyncKind::none:
      return make_none(learners);
    case SyncKind::ssgd:
      return make_ssgd(learners, collective);
    case SyncKind::sma:
      return make_sma(learners, collective, options.sma);
    case SyncKind::easgd:
      return make_easgd(learners, collective, options.easgd);
    case SyncKind::local:
      return make_local(learners, collective, options.local);
    case SyncKind::hierarchical:
      return make_hierarchical(learners, collective, options.hierarchical);
    case SyncKind::slowmo:
      return make_slowmo(learners, collective, options.slowmo);
    case SyncKind::diloco:
      return make_diloco(learners, collective, options.diloco);
  }
  throw Error(ErrorKind::internal, "unknown synchroniser");
}

int synchroniser_arrays(const TrainerOptions& o) {
  const int states = Optimiser(o.optimiser, {{{0, 1}}}).state_count();
  const int sums = o.devices > 1 ? 2 : 0;  // of a device and of all
  const auto means = [&](StatesAtSync what) { return sums * (what == StatesAtSync::average ? 1 + states : 1); };
  switch (o.sync) {
    case SyncKind::none:
      return 0;
    case SyncKind::ssgd:
      return sums;
    case SyncKind::sma:
    case SyncKind::easgd:
      return 2 + sums;  // z and the one before
    case SyncKind::local:
      return means(o.local.states);
    case SyncKind::hierarchical:
      return means(o.hierarchical.states);
    case SyncKind::slowmo:
      return 2 + means(o.slowmo.states);  // z and its momentum
    case SyncKind::diloco:
      return 2 + means(o.diloco.states);
  }
  throw Error(ErrorKind::internal, "unknown synchroniser");
}

Trainer::Trainer(const Graph& training, const Bindings& bindings, const KernelSet& kernels,
                 const TrainerOptions& options, LoadBatch load)
    : kernels_(kernels),
      load_(traced(std::move(load), options)),
      accumulate_(options.accumulate),
      restart_(options.restart) {
  check_float32(training);
  CompileOptions compile_options;
  compile_options.threads = options.threads_per_learner;
  plans_ = std::make_shared<PlanFamily>(training, kernels, compile_options);
  plan_ = plans_->plan(0, bindings);
  if (plan_->parameters()->slots().empty())
    throw Error(ErrorKind::model, "the model has no trainable parameters: nothing to train");
  optimiser_ = std::make_unique<Optimiser>(options.optimiser, segments_of(*plan_->parameters(), options));
  make_learners(bindings, kernels, options);
  collective_ = make_local_collective();
  synchroniser_ = make_synchroniser(options, learners_, *collective_);
  TaskGraph tasks;
  synchroniser_->add_tasks(tasks);
  runner_ = std::make_unique<TaskRunner>(std::move(tasks), options.first_iteration, 4, options.trace);
}

void Trainer::make_learners(const Bindings& sizes, const KernelSet& kernels, const TrainerOptions& options) {
  const int k = options.learners * options.devices;
  losses_.resize(k);
  learners_.parameters = static_cast<int64_t>(plan_->parameters()->bytes() / sizeof(float));
  learners_.statistics = static_cast<int64_t>(plan_->states()->bytes() / sizeof(float));
  learners_.optimiser = optimiser_.get();
  learners_.states_since = options.first_iteration;
  learners_.learning_rate = options.schedule;
  if (!learners_.learning_rate) learners_.learning_rate = [rate = options.learning_rate](int64_t) { return rate; };
  for (int d = 0; d < options.devices; ++d) {
    devices_.push_back(make_cpu_device());
    DeviceLearners view;
    view.device = devices_.back().get();
    for (int j = 0; j < options.learners; ++j) {
      const int number = d * options.learners + j;
      StreamOptions stream;
      stream.name = stream_name(number);
      stream.threads = options.threads_per_learner;
      stream.cores = cores_of(number, k, options.threads_per_learner);
      streams_.push_back(devices_.back()->make_stream(stream));
      memories_.push_back(std::make_unique<LearnerMemory>(plans_, sizes, *devices_.back(), kernels, *optimiser_,
                                                          StepCounter{options.seed, static_cast<uint64_t>(number), 0}));
      LearnerMemory& memory = *memories_.back();
      Learner learner;
      learner.worker = {streams_.back().get(), options.threads_per_learner};
      learner.weights = memory.parameters();
      learner.gradients = memory.gradients();
      for (int s = 0; s < optimiser_->state_count(); ++s) learner.states[s] = memory.optimiser_states()[s];
      learner.measures = memory.measures();
      if (accumulate_ > 1) accumulated_.push_back(devices_.back()->allocate(plan_->parameters()->bytes()));
      learner.statistics = memory.states();
      learner.forward_backward = [this, number](int64_t iteration) { forward_backward(number, iteration); };
      view.synchronising.push_back(learner.worker);
      view.learners.push_back(std::move(learner));
    }
    learners_.devices.push_back(std::move(view));
  }
}

double Trainer::run_batch(int learner, int64_t step) {
  SegmentedReplica& replica = memories_[learner]->replica();
  load_(learner, replica.first());
  replica.counter().step = static_cast<uint64_t>(step);
  replica.run();
  return replica.whole().loss();
}

// Of several batches: the mean of their losses and gradients, added up in their order.
void Trainer::forward_backward(int learner, int64_t iteration) {
  double loss = run_batch(learner, iteration * accumulate_);
  if (accumulate_ > 1) {
    float* gradients = memories_[learner]->gradients();
    float* sum = reinterpret_cast<float*>(accumulated_[learner].get());
    std::memcpy(sum, gradients, plan_->parameters()->bytes());
    for (int i = 1; i < accumulate_; ++i) {
      loss += run_batch(learner, iteration * accumulate_ + i);
      const bool last = i == accumulate_ - 1;
      const float* const terms[] = {sum, gradients};
      sum_of(terms, last ? 1.0f / static_cast<float>(accumulate_) : 1.0f, last ? gradients : sum, 0,
             learners_.parameters);
    }
    loss /= accumulate_;
  }
  if (!std::isfinite(loss))
    throw Error(ErrorKind::model, "the loss of iteration {} is {}; a lower --lr may help", iteration + 1, loss);
  losses_[learner].sum += loss;
  ++losses_[learner].count;
}

void Trainer::restart() {
  if (restart_.states) learners_.states_since = iteration();
  synchroniser_->restart(restart_);
}

std::vector<NamedBytes> Trainer::arrays() {
  std::vector<NamedBytes> all{named_bytes("states since", std::span(&learners_.states_since, 1))};
  const auto parameters = static_cast<size_t>(learners_.parameters);
  for (size_t j = 0; j < memories_.size(); ++j) {
    LearnerMemory& memory = *memories_[j];
    const std::string learner = fmt::format("learner {} ", j);
    all.push_back(named_bytes(learner + "weights", std::span(memory.parameters(), parameters)));
    all.push_back(
        named_bytes(learner + "statistics", std::span(memory.states(), static_cast<size_t>(learners_.statistics))));
    for (size_t s = 0; s < memory.optimiser_states().size(); ++s)
      all.push_back(
          named_bytes(fmt::format("{}optimiser {}", learner, s), std::span(memory.optimiser_states()[s], parameters)));
  }
  for (NamedBytes& part : synchroniser_->arrays()) all.push_back({"synchroniser " + part.name, part.bytes});
  return all;
}

void Trainer::run(int64_t iterations) {
  for (int64_t i = 0; i < iterations; ++i) runner_->launch();
  runner_->synchronize();
}

double Trainer::take_loss() {
  LossSum total;
  for (LossSum& l : losses_) {
    total.sum += l.sum;
    total.count += l.count;
    l = {};
  }
  return total.count ? total.sum / static_cast<double>(total.count) : 0;
}

void Trainer::keep() {
  const ModelView model = synchroniser_->evaluated();
  kept_parameters_.resize(plan_->parameters()->bytes());
  kept_states_.resize(plan_->states()->bytes());
  std::memcpy(kept_parameters_.data(), model.weights, kept_parameters_.size());
  if (!kept_states_.empty()) std::memcpy(kept_states_.data(), model.statistics, kept_states_.size());
  has_kept_ = true;
}

std::map<std::string, HostTensor> Trainer::trained() {
  if (!use_kept_) return tensors(evaluated());
  return tensors(
      {reinterpret_cast<const float*>(kept_parameters_.data()), reinterpret_cast<const float*>(kept_states_.data())});
}

std::map<std::string, HostTensor> Trainer::tensors(const ModelView& model) const {
  std::map<std::string, HostTensor> tensors;
  read_slots(*plan_->parameters(), reinterpret_cast<const std::byte*>(model.weights), tensors);
  read_slots(*plan_->states(), reinterpret_cast<const std::byte*>(model.statistics), tensors);
  return tensors;
}

std::map<std::string, HostTensor> Trainer::gradients(int learner) {
  std::map<std::string, HostTensor> tensors;
  read_slots(*plan_->parameters(),
             reinterpret_cast<const std::byte*>(memories_.at(static_cast<size_t>(learner))->gradients()), tensors);
  return tensors;
}

void Trainer::read_slots(const ParameterLayout& layout, const std::byte* region,
                         std::map<std::string, HostTensor>& tensors) const {
  for (const ParameterSlot& slot : layout.slots()) tensors.emplace(slot.name, read_slot(slot, region, kernels_));
}

size_t Trainer::learner_bytes() const {
  const size_t parameters = plan_->parameters()->bytes();
  return plan_->arena_bytes() + plan_->states()->bytes() +
         parameters * static_cast<size_t>(2 + optimiser_->state_count() + (accumulate_ > 1 ? 1 : 0)) +
         optimiser_->measure_count() * sizeof(double);
}

}  // namespace arbalest
