#include "sync/evaluator.h"

#include <chrono>
#include <exception>
#include <thread>

namespace arbalest {
namespace {

struct BatchResult {
  double loss = 0;
  int64_t correct = 0;
};

int64_t label_count(const Plan& plan) {
  const PlanTensor* label = plan.label();
  return label ? element_count(label->type.dims()) : 0;
}

}  // namespace

ModelEvaluator::ModelEvaluator(Graph graph, std::shared_ptr<const ParameterLayout> parameters,
                               std::shared_ptr<const ParameterLayout> states, const KernelSet& kernels,
                               const Options& options)
    : graph_(std::move(graph)),
      parameters_(std::move(parameters)),
      states_(std::move(states)),
      kernels_(kernels),
      options_(options) {}

std::shared_ptr<const Plan> ModelEvaluator::plan(int64_t batch) {
  std::shared_ptr<const Plan>& entry = plans_[batch];
  if (!entry) {
    Bindings bindings;
    if (!options_.batch_symbol.empty()) bindings[options_.batch_symbol] = batch;
    CompileOptions compile_options;
    compile_options.gradients = false;
    compile_options.parameters = parameters_;
    compile_options.states = states_;
    entry = compile(graph_, bindings, kernels_, compile_options);
  }
  return entry;
}

Evaluation ModelEvaluator::run(const std::byte* parameters, const std::byte* states, int64_t examples,
                               const LoadExamples& load) {
  const auto begin = std::chrono::steady_clock::now();
  const int64_t batch = std::min(options_.batch, std::max<int64_t>(examples, 1));
  const int64_t whole = examples / batch, rest = options_.batch_symbol.empty() ? 0 : examples % batch;
  const ReplicaRegions regions{const_cast<std::byte*>(parameters), nullptr, const_cast<std::byte*>(states)};
  std::vector<BatchResult> results(whole + (rest ? 1 : 0));
  const auto evaluate = [&](Replica& replica, int64_t index, int64_t count) {
    load(replica, index * batch, count);
    replica.run();
    results[index] = {replica.loss() * static_cast<double>(count), replica.plan().correct() ? replica.correct() : 0};
  };

  const std::shared_ptr<const Plan> whole_plan = plan(batch);
  const int threads = static_cast<int>(std::min<int64_t>(options_.threads, std::max<int64_t>(whole, 1)));
  std::vector<std::exception_ptr> failures(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads && whole > 0; ++t) {
    workers.emplace_back([&, t] {
      try {
        Replica replica(whole_plan, regions);
        for (int64_t i = t; i < whole; i += threads) evaluate(replica, i, batch);
      } catch (...) {
        failures[t] = std::current_exception();
      }
    });
  }
  for (std::thread& w : workers) w.join();
  for (const std::exception_ptr& f : failures)
    if (f) std::rethrow_exception(f);
  if (rest) {
    Replica replica(plan(rest), regions);
    evaluate(replica, whole, rest);
  }

  Evaluation e;
  e.examples = whole * batch + rest;
  e.positions = label_count(*whole_plan) / batch * e.examples;
  int64_t correct = 0;
  for (const BatchResult& r : results) e.loss += r.loss, correct += r.correct;
  e.loss /= static_cast<double>(std::max<int64_t>(e.examples, 1));
  if (whole_plan->correct()) e.correct = correct;
  e.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return e;
}

}  // namespace arbalest
