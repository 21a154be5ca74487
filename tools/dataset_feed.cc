#include "tools/dataset_feed.h"

#include <fmt/format.h>

namespace arbalest::tools {
namespace {

BatchLoaderOptions loader_options(const TrainingArguments& arguments, uint64_t first_batch) {
  BatchLoaderOptions options;
  options.learners = arguments.all_learners();
  options.batch = arguments.batch;
  options.seed = arguments.seed;
  options.first_iteration = first_batch;
  return options;
}

// Feeds come in the order of the graph's inputs; a model has few, so finding them costs a comparison or two.
void feed(Replica& replica, const std::vector<std::string>& names, const Batch& batch) {
  for (const PlanTensor& tensor : replica.plan().feeds()) {
    if (tensor.label) {
      replica.feed(tensor, batch.labels.bytes.data());
      continue;
    }
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == tensor.name) replica.feed(tensor, batch.inputs[i].bytes.data());
  }
}

// Axes of size 1 change nothing: a model may end in N x classes x 1 x 1.
Shape without_ones(Shape shape) {
  std::erase_if(shape, [](const Dim& d) { return d == Dim(1); });
  return shape;
}

// One label serves all losses: each must take what the data have.
void check_label_fits(const Dataset& data, const TensorType& type) {
  if (is_float(type.dtype) == data.has_classes())
    throw Error(ErrorKind::usage, "{}: the labels are {}, the loss takes {} labels", data.name,
                name_of(data.labels.values.dtype), name_of(type.dtype));
  Shape sample = type.shape;
  if (!sample.empty()) sample.erase(sample.begin());
  if (without_ones(sample) != without_ones(Shape(data.labels.sample())))
    throw Error(ErrorKind::usage, "{}: a label has the shape {}, the loss takes {}", data.name,
                to_string(data.labels.sample()), to_string(sample));
}

}  // namespace

TrainingFeed::TrainingFeed(const Dataset& data, const Session& session, const TrainingArguments& arguments,
                           const Normalisation& normalisation, uint64_t first_batch)
    : names_(match_inputs(session.training.graph, data)),
      loader_(data, normalisation, loader_options(arguments, first_batch)) {}

void TrainingFeed::load(int learner, Replica& replica) {
  feed(replica, names_, loader_.next(learner));
  loader_.release(learner);
}

EvaluationFeed::EvaluationFeed(const Dataset& data, const Session& session, const Normalisation& normalisation)
    : data_(data), names_(match_inputs(session.evaluation.graph, data)), filler_(data, normalisation) {}

LoadExamples EvaluationFeed::loader() const {
  return [this](Replica& replica, int64_t first, int64_t count) {
    Batch batch = make_batch(data_, count);
    for (int64_t row = 0; row < count; ++row) filler_.fill(batch, row, static_cast<uint32_t>(first + row));
    feed(replica, names_, batch);
  };
}

void check_labels_fit(const Dataset& data, const Session& session) {
  const Graph& graph = session.training.graph;
  bool takes_labels = false;
  for (const GraphInput& input : graph.inputs) {
    if (input.role != InputRole::label) continue;
    check_label_fits(data, graph.at(input.value).type);
    takes_labels = true;
  }
  if (!takes_labels) return;
  if (const auto classes = session.classes()) check_labels(data, *classes, session.losses[0].ignore_index);
}

void check_fills_a_batch(const Dataset& data, const Session& session) {
  const std::optional<int64_t> batch = session.fixed_batch();
  if (batch && *batch > data.size())
    throw Error(ErrorKind::usage, "{}: the model has a fixed batch of {}, and there are {} examples to evaluate",
                data.name, *batch, data.size());
}

std::string describe_normalisation(const Normalisation& normalisation) {
  std::string text;
  for (const ChannelStatistics& column : normalisation) {
    if (column.mean.size() > 4) continue;  // features: too many to say
    std::string means, deviations;
    for (size_t c = 0; c < column.mean.size(); ++c) {
      means += fmt::format("{}{:.4f}", c ? " " : "", column.mean[c]);
      deviations += fmt::format("{}{:.4f}", c ? " " : "", column.deviation[c]);
    }
    text += fmt::format("; mean {}, deviation {}", means, deviations);
  }
  return text;
}

}  // namespace arbalest::tools
