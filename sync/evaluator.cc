#include "sync/evaluator.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

namespace arbalest {
namespace {

constexpr const char* kScores = "scores";  // the output that is added where classes are counted, the last one

constexpr int64_t kMostConfusedClasses = 2000;  // 32 MiB a thread

bool is_label(const GraphInput& input) { return input.role == InputRole::label; }

// The label that graph.correct is computed from; null: there is none.
const GraphInput* judged_label(const Graph& graph) {
  for (ValueId value = graph.correct; value;) {
    for (const GraphInput& input : graph.inputs)
      if (input.value == value && is_label(input)) return &input;
    const Node* node = graph.producer(value);
    value = node && !node->inputs.empty() ? node->inputs.back() : ValueId();  // a label comes after what it judges
  }
  return nullptr;
}

// The cross-entropy that compares with this label; null: there is none.
const Node* cross_entropy_of(const Graph& graph, const GraphInput& label) {
  for (const Node& node : graph.nodes)
    if (std::holds_alternative<CrossEntropy>(node.primitive) && node.inputs[1] == label.value) return &node;
  return nullptr;
}

void check_classes(int64_t classes, const ModelEvaluator::Options& options) {
  if (options.top_k > classes)
    throw Error(ErrorKind::usage, "the {} best classes: the model has {}; ask for fewer", options.top_k, classes);
  if (options.confusion && classes > kMostConfusedClasses)
    throw Error(ErrorKind::usage, "a confusion matrix of {} classes: at most {}", classes, kMostConfusedClasses);
}

}  // namespace

ModelEvaluator::ModelEvaluator(Graph graph, std::shared_ptr<const ParameterLayout> parameters,
                               std::shared_ptr<const ParameterLayout> states, const KernelSet& kernels,
                               const Options& options)
    : options_(options) {
  find_labels(graph);
  CompileOptions compile_options;
  compile_options.gradients = false;
  compile_options.parameters = std::move(parameters);
  compile_options.states = std::move(states);
  plans_ = std::make_shared<PlanFamily>(std::move(graph), kernels, compile_options);
}

void ModelEvaluator::find_labels(Graph& graph) {
  const GraphInput* label = judged_label(graph);
  const Node* loss = label ? cross_entropy_of(graph, *label) : nullptr;
  if (label) label_ = label->name;
  if (loss) {
    const auto& cross_entropy = std::get<CrossEntropy>(loss->primitive);
    ignored_label_ = cross_entropy.ignore_index;
    weighs_by_labels_ = std::count_if(graph.inputs.begin(), graph.inputs.end(), is_label) == 1;
    class_axis_ = cross_entropy.axis;
  }
  if (!counts_classes()) return;
  if (!loss)
    throw Error(ErrorKind::usage,
                "best classes and confusions: the loss compares no classes; they need cross-entropy (--loss ce)");
  classes_ = graph.at(loss->inputs[0]).type.shape[static_cast<size_t>(class_axis_)].value();
  check_classes(classes_, options_);
  graph.outputs.push_back({loss->inputs[0], kScores});
}

Bindings ModelEvaluator::sizes(int64_t batch) const {
  if (options_.batch_symbol.empty()) return {};
  return {{options_.batch_symbol, batch}};
}

ClassCounts ModelEvaluator::new_counts() const {
  return counts_classes() ? ClassCounts(classes_, options_.top_k, options_.confusion) : ClassCounts();
}

ModelEvaluator::BatchResult ModelEvaluator::evaluate(SegmentedReplica& segments, int64_t first, int64_t count,
                                                     const LoadExamples& load, ClassCounts& counts) const {
  Replica& feeds = segments.set_sizes(sizes(count));
  load(feeds, first, count);
  BatchResult result;
  result.weight = static_cast<double>(count);
  std::vector<int64_t> labels;  // a copy: running reuses their memory
  if (const PlanTensor* label = label_.empty() ? nullptr : feeds.plan().find_feed(label_)) {
    const int64_t all = element_count(label->type.dims());
    result.positions = all;
    if (counts_classes() || ignored_label_) {
      const auto* begin = reinterpret_cast<const int64_t*>(feeds.address(*label));
      labels.assign(begin, begin + all);
    }
    if (ignored_label_) result.positions -= std::count(labels.begin(), labels.end(), *ignored_label_);
    if (weighs_by_labels_ && all > 0) result.weight *= static_cast<double>(result.positions) / static_cast<double>(all);
  }
  segments.run();
  Replica& replica = segments.whole();
  if (result.weight > 0) result.loss = result.weight * replica.loss();  // without a label that counts it is no number
  if (replica.plan().correct()) result.correct = replica.correct();
  if (counts_classes()) count_classes(replica, labels, counts);
  return result;
}

void ModelEvaluator::count_classes(Replica& replica, const std::vector<int64_t>& given, ClassCounts& counts) const {
  std::vector<int64_t> labels = given;
  if (ignored_label_) std::replace(labels.begin(), labels.end(), *ignored_label_, int64_t{-1});
  const PlanTensor& scores = replica.plan().outputs().back();
  if (scores.name != kScores)
    throw Error(ErrorKind::unsupported, "best classes and confusions of a model whose loops the data count");
  const Dims dims = scores.type.dims();
  const int64_t outer = element_count(Dims(dims.begin(), dims.begin() + class_axis_));
  const int64_t inner = element_count(Dims(dims.begin() + class_axis_ + 1, dims.end()));
  if (scores.type.dtype == DataType::f32) {
    counts.add(reinterpret_cast<const float*>(replica.address(scores)), labels.data(), outer, inner);
    return;
  }
  const HostTensor values = replica.read(scores).to(DataType::f64);
  counts.add(values.as<double>().data(), labels.data(), outer, inner);
}

Evaluation ModelEvaluator::run(const std::byte* parameters, const std::byte* states, int64_t examples,
                               const LoadExamples& load) {
  const auto begin = std::chrono::steady_clock::now();
  const bool fixed = options_.batch_symbol.empty();
  ensure(!fixed || examples >= options_.batch, "evaluation: {} examples for a batch of {}", examples, options_.batch);
  const int64_t batch = std::min(options_.batch, std::max<int64_t>(examples, 1));
  const int64_t whole = examples / batch, rest = fixed ? 0 : examples % batch;
  const ReplicaRegions regions{const_cast<std::byte*>(parameters), nullptr, const_cast<std::byte*>(states)};
  std::vector<BatchResult> results(static_cast<size_t>(whole + (rest ? 1 : 0)));

  const auto threads = static_cast<size_t>(std::min<int64_t>(options_.threads, std::max<int64_t>(whole, 1)));
  std::vector<ClassCounts> counts(threads);
  std::vector<std::exception_ptr> failures(threads);
  std::vector<std::thread> workers;
  for (size_t t = 0; t < threads && whole > 0; ++t) {
    workers.emplace_back([&, t] {
      try {
        counts[t] = new_counts();
        SegmentedReplica replica(plans_, regions);
        for (auto i = static_cast<int64_t>(t); i < whole; i += static_cast<int64_t>(threads))
          results[static_cast<size_t>(i)] = evaluate(replica, i * batch, batch, load, counts[t]);
      } catch (...) {
        failures[t] = std::current_exception();
      }
    });
  }
  for (std::thread& w : workers) w.join();
  for (const std::exception_ptr& f : failures)
    if (f) std::rethrow_exception(f);
  ClassCounts total = new_counts();
  for (const ClassCounts& c : counts)
    if (c.classes() > 0) total.add(c);
  if (rest) {
    SegmentedReplica replica(plans_, regions);
    results.back() = evaluate(replica, whole * batch, rest, load, total);
  }

  Evaluation e;
  e.examples = whole * batch + rest;
  double weight = 0;
  int64_t correct = 0;
  for (const BatchResult& r : results)
    e.loss += r.loss, weight += r.weight, e.positions += r.positions, correct += r.correct;
  if (weight > 0) e.loss /= weight;
  if (plans_->graph().correct) e.correct = correct;
  if (options_.top_k > 0) e.among_best = total.among_best();
  e.confusion = total.confusion();
  e.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return e;
}

}  // namespace arbalest
