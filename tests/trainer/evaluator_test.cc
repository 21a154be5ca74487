#include "sync/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/builder.h"
#include "graph/loss.h"
#include "sync/learner_memory.h"

namespace arbalest {
namespace {

constexpr int64_t kExamples = 7, kClasses = 4, kPlaces = 3;

float score(int64_t example, int64_t c, int64_t place) {
  return static_cast<float>((example * 31 + c * 17 + place * 5) % 11) / 3;
}
int64_t label(int64_t example, int64_t place) { return (example * 5 + place) % kClasses; }

// The identity, as a segmentation: scores of N x classes x places, labels of N x places.
Graph identity(const LossOptions& loss) {
  Graph graph;
  Builder builder(graph);
  const TensorType type{DataType::f32, {Dim::symbol("N"), kClasses, kPlaces}};
  const Value x = builder.add_input("x", InputRole::data, type);
  graph.outputs.push_back({(x + 0.0).id(), "y"});
  attach_loss(graph, loss);
  return graph;
}

void load(Replica& replica, int64_t first, int64_t count) {
  auto* x = reinterpret_cast<float*>(replica.address(*replica.plan().find_feed("x")));
  auto* labels = reinterpret_cast<int64_t*>(replica.address(*replica.plan().label()));
  for (int64_t e = first; e < first + count; ++e) {
    for (int64_t c = 0; c < kClasses; ++c)
      for (int64_t p = 0; p < kPlaces; ++p) *x++ = score(e, c, p);
    for (int64_t p = 0; p < kPlaces; ++p) *labels++ = label(e, p);
  }
}

Evaluation evaluate(const LossOptions& loss, int top_k, bool confusion, int64_t batch) {
  ModelEvaluator::Options options;
  options.threads = 2;
  options.batch = batch;
  options.batch_symbol = "N";
  options.top_k = top_k;
  options.confusion = confusion;
  const Graph graph = identity(loss);
  CompileOptions compile_options;
  compile_options.gradients = false;
  const auto plan = compile(graph, {{"N", batch}}, cpu::kernel_set(), compile_options);
  ModelEvaluator evaluator(graph, plan->parameters(), plan->states(), cpu::kernel_set(), options);
  return evaluator.run(nullptr, nullptr, kExamples, load);
}

TEST(ModelEvaluator, CountsPositionsOfAnyBatch) {
  for (const bool ignoring : {false, true}) {
    LossOptions loss;
    if (ignoring) loss.ignore_index = 2;
    std::vector<int64_t> confusion(kClasses * kClasses);
    int64_t positions = 0, correct = 0, among_two = 0;
    double entropy = 0;
    for (int64_t e = 0; e < kExamples; ++e) {
      for (int64_t p = 0; p < kPlaces; ++p) {
        const int64_t own = label(e, p);
        if (ignoring && own == 2) continue;
        int64_t best = 0, ahead = 0;
        double sum = 0;
        for (int64_t c = 0; c < kClasses; ++c) {
          if (score(e, c, p) > score(e, best, p)) best = c;
          if (score(e, c, p) > score(e, own, p) || (score(e, c, p) == score(e, own, p) && c < own)) ++ahead;
          sum += std::exp(double{score(e, c, p)});
        }
        ++positions;
        correct += best == own;
        among_two += ahead < 2;
        ++confusion[own * kClasses + best];
        entropy += std::log(sum) - double{score(e, own, p)};
      }
    }
    for (const int64_t batch : {1, 2, 4, 7}) {
      const Evaluation e = evaluate(loss, 2, true, batch);
      EXPECT_EQ(e.positions, positions);
      EXPECT_EQ(*e.correct, correct);
      EXPECT_EQ(*e.among_best, among_two);
      EXPECT_EQ(e.confusion, confusion);
      EXPECT_NEAR(e.loss, entropy / static_cast<double>(positions), 1e-5);
      EXPECT_NEAR(e.accuracy(), static_cast<double>(correct) / static_cast<double>(positions), 1e-12);
    }
  }
}

TEST(ModelEvaluator, CountsOnlyWhatIsAskedFor) {
  const Evaluation e = evaluate({}, 0, false, 4);
  EXPECT_FALSE(e.among_best);
  EXPECT_THAT(e.confusion, testing::IsEmpty());
  EXPECT_EQ(e.positions, kExamples * kPlaces);
}

TEST(ModelEvaluator, RefusesWhatCannotBeCounted) {
  LossOptions squares;
  squares.kind = LossKind::mean_squared_error;
  EXPECT_THROW(evaluate(squares, 2, false, 4), Error);
  EXPECT_THROW(evaluate({}, kClasses + 1, false, 4), Error);
}

}  // namespace
}  // namespace arbalest
