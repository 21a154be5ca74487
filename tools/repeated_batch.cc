#include "tools/repeated_batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/open_sizes.h"

namespace arbalest::tools {
namespace {

HostTensor part(const HostTensor& whole, size_t axis, int index, int count, const std::string& name) {
  if (axis >= whole.dims.size() || whole.dims[axis] % count != 0)
    throw Error(ErrorKind::usage, "'{}' ({}) cannot be cut into {} equal batches", name, to_string(whole.dims), count);
  Dims dims = whole.dims;
  dims[axis] /= count;
  HostTensor some(whole.dtype, dims);
  const auto run = row_major_strides(dims)[axis] * dims[axis] * static_cast<int64_t>(size_of(whole.dtype));
  const int64_t size = std::ssize(some.bytes);
  for (int64_t at = 0; at < size; at += run)
    std::copy_n(whole.bytes.begin() + at * count + run * index, run, some.bytes.begin() + at);
  return some;
}

// A part of each input and label along its batch; what has no batch is given whole.
ReferenceBatch part(const ReferenceBatch& whole, const Session& session, int index, int count) {
  if (count == 1) return whole;
  ReferenceBatch some = whole;
  const Graph& graph = session.training.graph;
  size_t label = 0;
  for (const GraphInput& input : graph.inputs) {
    if (input.role != InputRole::data && input.role != InputRole::label) continue;
    const bool is_label = input.role == InputRole::label;
    if (is_label ? label == some.labels.size() : !some.feeds.contains(input.name)) continue;
    HostTensor& value = is_label ? some.labels[label++] : some.feeds[input.name];
    const auto axis = batch_axis(graph.at(input.value).type.shape, session.batch_symbol());
    if (axis) value = part(value, *axis, index, count, input.name);
  }
  return some;
}

// Floats as the plan computes with them; labels of any integer type as int64.
HostTensor converted(const HostTensor& value, const PlanTensor& to) {
  const bool convertible = is_float(value.dtype) == is_float(to.type.dtype) && (is_float(value.dtype) || to.label);
  return convertible ? value.to(to.type.dtype) : value;
}

Tensors outputs_of(const Replica& replica) {
  Tensors outputs;
  for (const PlanTensor& t : replica.plan().outputs()) outputs.emplace(t.name, replica.read(t));
  return outputs;
}

void check_classes(const Session& session, const ReferenceBatch& batch) {
  const auto classes = session.classes();
  if (!classes || batch.labels.empty()) return;
  const HostTensor& label = batch.labels[0];
  if (is_float(label.dtype)) throw Error(ErrorKind::usage, "the labels are floats, the loss takes classes");
  check_labels({"the batch", {}, {"label", label.to(DataType::i64)}, *classes}, *classes,
               session.losses[0].ignore_index);
}

}  // namespace

std::optional<size_t> batch_axis(const Shape& shape, const std::string& symbol) {
  if (symbol.empty()) return 0;
  const auto axis = std::find(shape.begin(), shape.end(), Dim::symbol(symbol));
  return axis == shape.end() ? std::nullopt : std::optional(static_cast<size_t>(axis - shape.begin()));
}

DataFacts facts_of(const ReferenceBatch& batch) {
  DataFacts facts;
  for (const auto& [name, value] : batch.feeds)
    if (!value.dims.empty()) {
      facts.samples[name] = Dims(value.dims.begin() + 1, value.dims.end());
      facts.examples[name] = value.dims[0];
    }
  facts.class_labels = !batch.labels.empty() && !is_float(batch.labels[0].dtype);
  return facts;
}

Bindings bindings_of(const Graph& graph, const Tensors& feeds) {
  Bindings bindings;
  for (const GraphInput& input : graph.inputs) {
    const auto value = feeds.find(input.name);
    if (input.role != InputRole::data || value == feeds.end()) continue;
    bind_sizes(graph.at(input.value).type.shape, value->second.dims, bindings);
  }
  return bindings;
}

Bindings bindings_of(const Graph& graph, const ReferenceBatch& batch) {
  Bindings bindings = bindings_of(graph, batch.feeds);
  auto label = batch.labels.begin();
  for (const GraphInput& input : graph.inputs) {
    if (input.role == InputRole::label && label != batch.labels.end())
      bind_sizes(graph.at(input.value).type.shape, (label++)->dims, bindings);
  }
  return bindings;
}

void feed(Replica& replica, const ReferenceBatch& batch) {
  size_t label = 0;
  for (const PlanTensor& tensor : replica.plan().feeds()) {
    if (tensor.label) {
      if (label == batch.labels.size()) throw Error(ErrorKind::usage, "the loss takes a label, the reference has none");
      replica.feed(tensor.name, converted(batch.labels[label++], tensor));
      continue;
    }
    const auto value = batch.feeds.find(tensor.name);
    if (value == batch.feeds.end()) throw Error(ErrorKind::usage, "input '{}': no value is given", tensor.name);
    replica.feed(tensor.name, converted(value->second, tensor));
  }
  if (label < batch.labels.size()) throw Error(ErrorKind::usage, "a label is given, but the loss takes none");
}

ForwardRun::ForwardRun(const Graph& graph, int threads) {
  CompileOptions options;
  options.threads = threads;
  options.gradients = false;
  plans_ = std::make_shared<PlanFamily>(graph, cpu::kernel_set(), options);
}

Tensors ForwardRun::outputs(const ReferenceBatch& batch) {
  const Bindings sizes = bindings_of(plans_->graph(), batch);
  if (!replica_) {
    const auto plan = plans_->plan(0, sizes);
    parameters_.resize(plan->parameters()->bytes());
    states_.resize(plan->states()->bytes());
    write_initial_values(plans_->graph(), *plan, parameters_.data(), states_.data(), cpu::kernel_set());
    replica_ = std::make_unique<SegmentedReplica>(plans_, ReplicaRegions{parameters_.data(), nullptr, states_.data()});
  }
  feed(replica_->set_sizes(sizes), batch);
  replica_->run();
  return outputs_of(replica_->whole());
}

Tensors run_once(const Graph& graph, const ReferenceBatch& batch, int threads) {
  return ForwardRun(graph, threads).outputs(batch);
}

RepeatedBatch::RepeatedBatch(const Session& session, const ReferenceBatch& batch, const TrainerOptions& options)
    : session_(session) {
  session.require_parameters();
  check_classes(session, batch);
  const int learners = options.learners * options.devices, parts = learners * options.accumulate;
  for (int i = 0; i < parts; ++i) parts_.push_back(part(batch, session, i, parts));
  next_.resize(static_cast<size_t>(learners), 0);
  const auto each = static_cast<size_t>(options.accumulate);
  trainer_ = std::make_unique<Trainer>(session.training.graph, bindings_of(session.training.graph, parts_[0]),
                                       cpu::kernel_set(), options, [this, each](int learner, Replica& replica) {
                                         const auto j = static_cast<size_t>(learner);
                                         feed(replica, parts_[j * each + next_[j]]);
                                         next_[j] = (next_[j] + 1) % each;
                                       });
}

double RepeatedBatch::step() {
  trainer_->run(1);
  return trainer_->take_loss();
}

Tensors RepeatedBatch::outputs() const { return outputs_of(trainer_->replica(0)); }

Tensors RepeatedBatch::gradients() {
  Tensors mean = trainer_->gradients(0);
  const int learners = static_cast<int>(next_.size());
  for (auto& [name, sum] : mean) {
    if (learners > 1) sum = sum.to_f32();
  }
  for (int j = 1; j < learners; ++j) {
    for (const auto& [name, more] : trainer_->gradients(j)) {
      const HostTensor wide = more.to_f32();
      HostTensor& sum = mean.at(name);
      for (size_t i = 0; i < wide.as<float>().size(); ++i) sum.as<float>()[i] += wide.as<float>()[i];
    }
  }
  for (auto& [name, sum] : mean) {
    if (learners == 1) break;
    for (float& x : sum.as<float>()) x /= static_cast<float>(learners);
  }
  return mean;
}

}  // namespace arbalest::tools
