#include "tools/algorithm_run.h"

#include <algorithm>
#include <cmath>

#include "tools/open_sizes.h"

namespace arbalest::tools {
namespace {

bool is_assigned(const BoundGraph& bound, const std::string& output) {
  return std::any_of(bound.assignments.begin(), bound.assignments.end(),
                     [&](const auto& a) { return a.second == output; });
}

}  // namespace

AlgorithmRun::AlgorithmRun(const ModelPtr& model, Tensors feeds, int threads)
    : feeds_(std::move(feeds)), threads_(threads) {
  TrainingInfo info = read_training_info(model);
  if (info.algorithms.empty())
    throw Error(ErrorKind::model, "the model describes no training of its own (training_info is empty)");
  tensors_ = std::move(info.tensors);
  for (BoundGraph& b : info.algorithms) algorithms_.push_back(prepare(std::move(b)));
  for (BoundGraph& b : info.initializations) initializations_.push_back(prepare(std::move(b)));
}

AlgorithmRun::Part AlgorithmRun::prepare(BoundGraph bound) const {
  ImportOptions options;
  options.batch_norm = BatchNormPolicy::file;
  options.free_batch = false;
  options.outputs = bound.outputs;
  for (const auto& [tensor, output] : bound.assignments)
    if (std::find(options.outputs.begin(), options.outputs.end(), output) == options.outputs.end())
      options.outputs.push_back(output);
  Tensors values = feeds_;
  values.insert(tensors_.begin(), tensors_.end());
  options.bindings = sizes_of(declared_inputs(*bound.model, options), values);
  const Imported imported = import_model(*bound.model, options);
  return {std::move(bound), std::make_unique<ForwardRun>(imported.graph, threads_)};
}

Tensors AlgorithmRun::run(Part& part) {
  Tensors values = feeds_;
  values.insert(tensors_.begin(), tensors_.end());
  return part.run->outputs({values, {}});
}

void AlgorithmRun::assign(const Part& part, const Tensors& outputs) {
  for (const auto& [tensor, output] : part.bound.assignments) {
    const HostTensor& value = outputs.at(output);
    HostTensor& old = tensors_.at(tensor);
    if (value.dims != old.dims)
      throw Error(ErrorKind::model, "'{}' has shape {}; '{}', which training_info gives it, has {}", tensor,
                  to_string(old.dims), output, to_string(value.dims));
    old = value.to(old.dtype);
  }
}

void AlgorithmRun::initialize() {
  for (Part& part : initializations_) assign(part, run(part));
}

std::vector<double> AlgorithmRun::step() {
  std::vector<double> losses;
  for (Part& part : algorithms_) {
    const Tensors outputs = run(part);
    double loss = NAN;
    for (const std::string& name : part.bound.outputs) {
      if (is_assigned(part.bound, name) || outputs.at(name).element_count() != 1) continue;
      loss = outputs.at(name).to(DataType::f64).as<double>()[0];
      break;
    }
    losses.push_back(loss);
    assign(part, outputs);
  }
  return losses;
}

}  // namespace arbalest::tools
