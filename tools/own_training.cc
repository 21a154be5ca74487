#include "tools/own_training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "data/batch_loader.h"
#include "data/catalog.h"
#include "onnx_import/exporter.h"
#include "tools/algorithm_run.h"
#include "tools/interrupt.h"

namespace arbalest::tools {
namespace {

std::vector<std::string> data_inputs(const ModelPtr& model, const std::vector<std::string>& outputs) {
  ImportOptions options;
  options.outputs = outputs;
  std::vector<std::string> names;
  for (const GraphInput& input : import_model(*model, options).graph.inputs)
    if (input.role == InputRole::data) names.push_back(input.name);
  return names;
}

// Which input takes which column: the inputs of the data, then the labels.
std::vector<std::string> match_columns(const ModelPtr& model, const Dataset& data) {
  std::vector<std::string> names = data_inputs(model, {});
  if (names.size() != data.inputs.size())
    throw Error(ErrorKind::usage, "{}: the model takes {} inputs ({}), the data have {}", data.name, names.size(),
                fmt::join(names, ", "), data.inputs.size());
  if (names.size() > 1) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (std::find(names.begin(), names.end(), data.inputs[i].name) == names.end())
        throw Error(ErrorKind::usage, "{}: the model has no input '{}'", data.name, data.inputs[i].name);
      names[i] = data.inputs[i].name;
    }
  }
  const TrainingInfo info = read_training_info(model);
  std::vector<std::string> more;
  for (const BoundGraph& algorithm : info.algorithms)
    for (const std::string& name : data_inputs(algorithm.model, algorithm.outputs)) {
      const bool known = std::find(names.begin(), names.end(), name) != names.end() || info.tensors.contains(name);
      if (!known && std::find(more.begin(), more.end(), name) == more.end()) more.push_back(name);
    }
  if (more.size() > 1)
    throw Error(ErrorKind::unsupported,
                "training_info takes {} inputs beside the model's ({}); the data have one label", more.size(),
                fmt::join(more, ", "));
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

Tensors feeds_of(const Batch& batch, const std::vector<std::string>& names) {
  Tensors feeds;
  for (size_t i = 0; i < batch.inputs.size(); ++i) feeds[names[i]] = batch.inputs[i];
  if (names.size() > batch.inputs.size()) feeds[names.back()] = batch.labels;
  return feeds;
}

}  // namespace

int train_by_training_info(const OwnTraining& o) {
  DataOptions data_options;
  data_options.holdout = o.holdout;
  data_options.seed = o.training.seed;
  const DataSplits data = open_data(o.data, data_options);
  const ModelPtr model = load_model(o.model);
  const std::vector<std::string> names = match_columns(model, data.train);
  BatchLoaderOptions loader_options;
  loader_options.batch = o.training.batch;
  loader_options.seed = o.training.seed;
  BatchLoader loader(data.train, o.training.normalise ? measure(data.train) : no_normalisation(data.train),
                     loader_options);
  AlgorithmRun run(model, feeds_of(make_batch(data.train, o.training.batch), names), o.training.threads);
  if (o.initialise) run.initialize();
  fmt::print("{}: training_info updates {} tensors; {} examples, batch {}\n", o.model, run.tensors().size(),
             data.train.size(), o.training.batch);

  listen_for_interrupts();
  const int64_t iterations = std::max<int64_t>(data.train.size() / o.training.batch, 1);
  for (int64_t epoch = 1; epoch <= o.epochs && !interrupted(); ++epoch) {
    double loss = 0;
    int64_t i = 0;
    for (; i < iterations && !interrupted(); ++i) {
      run.set_feeds(feeds_of(loader.next(0), names));
      loader.release(0);
      const double l = run.step().front();
      if (std::isinf(l)) throw Error(ErrorKind::model, "the loss of iteration {} of epoch {} is {}", i + 1, epoch, l);
      loss += l;
    }
    if (interrupted()) fmt::print("stopped by a signal after {} of {} iterations\n", i, iterations);
    fmt::print("epoch {}/{}  loss {:.4f}\n", epoch, o.epochs, loss / static_cast<double>(std::max<int64_t>(i, 1)));
  }
  export_model(*model, run.tensors(), o.out);
  fmt::print("wrote {}\n", o.out);
  return 0;
}

}  // namespace arbalest::tools
