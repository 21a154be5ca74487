// Graphs with sizes that only the data tell: each size costs one plan, all plans work on the same parameters, and the
// segments of a step agree with each other.

#include "graph/segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "exec/cpu/cpu_device.h"
#include "exec/segmented_replica.h"
#include "graph/builder.h"
#include "graph/element_index.h"

namespace arbalest {
namespace {

// Positions of what is true.
SegmentEnd::Result positions_of_true(const std::vector<HostTensor>& sources, const Bindings&) {
  std::vector<int64_t> positions;
  const HostTensor wide = sources.at(0).to(DataType::i64);
  for (int64_t i = 0; i < wide.element_count(); ++i)
    if (wide.as<int64_t>()[static_cast<size_t>(i)] != 0) positions.push_back(i);
  const int64_t count = std::ssize(positions);
  return {{HostTensor::i64({count}, positions)}, {count}};
}

Value picked_where(Builder& b, const Value& x, const Value& condition, const std::string& name) {
  const Value positions =
      b.add_input(name + ".indices", InputRole::computed, {DataType::i64, Shape{Dim::symbol(name + ".count", 0)}});
  b.graph().segment_ends.push_back(
      {{condition.id()}, {positions.id()}, {name + ".count"}, positions_of_true, {}, "", name});
  return gather(x, positions, 0);
}

Value above(const Value& x, double threshold) {
  return map([threshold](const Scalar& e) { return e > threshold; }, x);
}

// x -> those above 0 -> of their squares those above 2, and the sum of all of these.
Graph two_choices() {
  Graph g;
  Builder b(g);
  const Value x = b.add_input("x", InputRole::data, {DataType::f32, Shape{Dim::symbol("N")}});
  const Value positive = picked_where(b, x, above(x, 0), "positive");
  const Value squares = positive * positive;
  const Value large = picked_where(b, squares, above(squares, 2), "large");
  b.add_output("positive", positive);
  b.add_output("large", large);
  b.add_output("sum", reduce(Reduction::sum, large, {0}, Keep::no));
  verify(g);
  return g;
}

struct SegmentedRun {
  explicit SegmentedRun(Graph graph) {
    CompileOptions options;
    options.gradients = false;
    plans = std::make_shared<PlanFamily>(std::move(graph), cpu::kernel_set(), options);
    replica = std::make_unique<SegmentedReplica>(plans, ReplicaRegions{});
  }
  std::vector<float> output(const std::string& name, const std::vector<float>& x) {
    const int64_t size = std::ssize(x);
    replica->set_sizes({{"N", size}}).feed("x", HostTensor::f32({size}, x));
    replica->run();
    const Replica& whole = replica->whole();
    const HostTensor t = whole.read(*whole.plan().find_output(name));
    return {t.as<float>().begin(), t.as<float>().end()};
  }
  std::shared_ptr<PlanFamily> plans;
  std::unique_ptr<SegmentedReplica> replica;
};

TEST(Segments, EachSizeCostsOnePlan) {
  SegmentedRun run(two_choices());
  EXPECT_THAT(run.output("large", {1, -1, 2, 3}), testing::ElementsAre(4, 9));
  EXPECT_EQ(run.plans->plans_made(), 3);  // a plan a segment
  EXPECT_THAT(run.output("large", {-5, 4, 1, 2}), testing::ElementsAre(16, 4));
  EXPECT_EQ(run.plans->plans_made(), 3);  // the same counts
  EXPECT_THAT(run.output("large", {5, 4, 1, 2}), testing::ElementsAre(25, 16, 4));
  EXPECT_EQ(run.plans->plans_made(), 5);  // other counts in the second segment and the third
  EXPECT_THAT(run.output("sum", {3, -1}), testing::ElementsAre(9));
  EXPECT_EQ(run.plans->plans_made(), 8);  // another length of the data
  EXPECT_THAT(run.output("positive", {1, -1, 2, 3}), testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(run.plans->plans_made(), 8);  // all known
}

TEST(Segments, NothingMayBeChosen) {
  SegmentedRun run(two_choices());
  EXPECT_THAT(run.output("large", {1, -1}), testing::IsEmpty());
  EXPECT_THAT(run.output("sum", {-1, -2}), testing::ElementsAre(0));
  EXPECT_THAT(run.output("sum", {2, -2}), testing::ElementsAre(4));
}

TEST(Segments, OldPlansAreForgotten) {
  SegmentedRun run(two_choices());
  const int64_t most = static_cast<int64_t>(PlanFamily::kMostPlans);
  for (int64_t n = 1; n <= most; ++n) run.output("sum", std::vector<float>(static_cast<size_t>(n), -1));
  const int64_t made = run.plans->plans_made();
  run.output("sum", std::vector<float>(static_cast<size_t>(most), -1));
  EXPECT_EQ(run.plans->plans_made(), made);
  run.output("sum", {-1});
  EXPECT_GT(run.plans->plans_made(), made);
}

// What a segment draws is what the next one draws again.
TEST(Segments, DrawTheSameNumbers) {
  Graph g;
  Builder b(g);
  b.add_input("x", InputRole::data, {DataType::f32, Shape{Dim::symbol("N")}});
  const Value random = b.emit_one(RandomUniform{Shape{Dim(1000)}, DataType::f32, 7}, {});
  b.add_output("chosen", picked_where(b, random, above(random, 0.5), "large"));
  SegmentedRun run(std::move(g));
  for (uint64_t step = 0; step < 3; ++step) {
    run.replica->counter() = {11, 2, step};
    const std::vector<float> chosen = run.output("chosen", {0});
    EXPECT_THAT(chosen, testing::Each(testing::Gt(0.5f)));
    EXPECT_GT(chosen.size(), 400u);
    EXPECT_LT(chosen.size(), 600u);
  }
}

// A graph made again for a value: as many terms as the data say.
std::shared_ptr<const Graph> sum_of_terms(int64_t terms, bool is_known) {
  auto g = std::make_shared<Graph>();
  Builder b(*g);
  const Value x = b.add_input("x", InputRole::data, {DataType::f32, Shape{Dim::symbol("N")}});
  const Value total = reduce(Reduction::sum, x, {0}, Keep::no);
  if (!is_known) {
    SegmentEnd end;
    end.sources = {cast(total, DataType::i64).id()};
    end.compute = [](const std::vector<HostTensor>&, const Bindings&) { return SegmentEnd::Result{}; };
    end.rebuild = [](const std::vector<HostTensor>& sources) {
      return sum_of_terms(sources.at(0).as<int64_t>()[0], true);
    };
    g->segment_ends.push_back(std::move(end));
  }
  const Value half = picked_where(b, x, above(x, 0.5), "half");
  Value sum = b.scalar(0, DataType::f32);
  for (int64_t i = 0; i < terms; ++i) sum = sum + reduce(Reduction::sum, half, {0}, Keep::no);
  b.add_output("sum", sum);
  return g;
}

TEST(Segments, AGraphMadeAgainForAValue) {
  SegmentedRun run(*sum_of_terms(1, false));
  EXPECT_THAT(run.output("sum", {1, 2, 0.25f}), testing::ElementsAre(3 * 3));
  EXPECT_THAT(run.output("sum", {1, 1, 0, 0}), testing::ElementsAre(2 * 2));
  EXPECT_THAT(run.output("sum", {2, 1, 0}), testing::ElementsAre(3 * 3));
  EXPECT_THAT(run.output("sum", {0.25f, 0, 0}), testing::ElementsAre(0));
}

std::string failure_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

TEST(Segments, LabelsMustBeAsManyAsTheDataGive) {
  Graph g;
  Builder b(g);
  const Value x = b.add_input("x", InputRole::data, {DataType::f32, Shape{Dim::symbol("N")}});
  const Value y = picked_where(b, x, above(x, 0), "picked");
  const Value label = b.add_input("label", InputRole::label, y.type());
  g.loss = reduce(Reduction::sum, y - label, {0}, Keep::no).id();
  PlanFamily plans(g, cpu::kernel_set(), {1, false, nullptr, nullptr, {}});
  EXPECT_THAT(failure_of([&] {
                plans.plan(0, {{"N", 3}});
              }),
              testing::HasSubstr("picked: the loss compares an output"));
  Bindings sizes{{"N", 3}, {"picked.count", 2}};
  EXPECT_EQ(failure_of([&] { plans.plan(0, sizes); }), "none");
  const HostTensor one = HostTensor::i64({3}, std::vector<int64_t>{0, 1, 0}).to(DataType::boolean);
  EXPECT_THAT(failure_of([&] { finish_segment(g.segment_ends[0], {one}, sizes); }),
              testing::HasSubstr("picked: the data give 1 elements, a label is given for 2"));
}

// A size that may be 0 decides nothing at import that only a positive one would.
TEST(Segments, ACountIsAtLeastZero) {
  const Dim count = Dim::symbol("count", 0), size = Dim::symbol("size");
  EXPECT_EQ(lower_bound(count), 0);
  EXPECT_EQ(lower_bound(count * size + size), 1);
  EXPECT_EQ(lower_bound(size), 1);
}

}  // namespace
}  // namespace arbalest
