// Random graphs give the same values with and without the passes.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "exec/replica.h"
#include "graph/builder.h"
#include "graph/print.h"

namespace arbalest {
namespace {

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) values_.push_back(constant(random_shape()));
    for (int i = 0; i < 25; ++i) values_.push_back(step());
    for (int i = 0; i < 4; ++i) builder_.add_output("y" + std::to_string(i), pick());
  }

  const Graph& graph() const { return graph_; }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  // Late values more often: deep graphs.
  Value pick() {
    return values_[values_.size() - 1 - static_cast<size_t>(below(std::min<int>(8, std::ssize(values_))))];
  }

  Shape random_shape() {
    Shape shape;
    for (int rank = 1 + below(3); rank > 0; --rank) shape.push_back(1 + below(3));
    return shape;
  }

  // A graph input with a random value: nothing can be folded.
  Value constant(const Shape& shape) {
    HostTensor t(DataType::f64, shape.dims());
    for (double& e : t.as<double>()) e = static_cast<double>(below(2001) - 1000) / 500;
    return builder_.add_input("p" + std::to_string(values_.size()), InputRole::parameter, {DataType::f64, shape},
                              std::make_shared<const HostTensor>(t));
  }

  Value unary(const Value& x) {
    switch (below(6)) {
      case 0:
        return map([](const Scalar& e) { return tanh(e); }, x);
      case 1:
        return map([](const Scalar& e) { return relu(e) + 0.5; }, x);
      case 2:
        return -x;
      case 3:
        return x * builder_.scalar(0.5, DataType::f64);
      case 4:
        return x + builder_.constant(std::make_shared<const HostTensor>(DataType::f64, Dims{1, 1}));
      default:
        return map([](const Scalar& e) { return sigmoid(e); }, x);
    }
  }

  Value binary(const Value& x) {
    const Value y = pick();
    const bool scalar = below(3) == 0;
    const Value other = scalar ? reduce(Reduction::mean, y, axes_of(y), Keep::no) : expand_to(y, x);
    return below(2) == 0 ? x + other : map([](const Scalar& a, const Scalar& b) { return a * tanh(b); }, x, other);
  }

  static std::vector<int> axes_of(const Value& v) {
    std::vector<int> axes;
    for (int i = 0; i < v.rank(); ++i) axes.push_back(i);
    return axes;
  }

  // y's sum along everything, spread over x's shape.
  static Value expand_to(const Value& y, const Value& x) {
    if (y.shape() == x.shape()) return y;
    return expand(reduce(Reduction::sum, tanh_of(y), axes_of(y), Keep::no), x.shape());
  }
  static Value tanh_of(const Value& y) {
    return map([](const Scalar& e) { return tanh(e); }, y);
  }

  Value movement(const Value& x) {
    const int axis = below(std::max(x.rank(), 1));
    std::vector<int> permutation = axes_of(x);
    std::shuffle(permutation.begin(), permutation.end(), random_);
    switch (below(6)) {
      case 0:
        return transpose(x, permutation);
      case 1:
        return reshape(x, {x.shape().element_count()});
      case 2:
        return x.rank() == 0 ? x : reduce(Reduction::max, x, {axis}, below(2) == 0 ? Keep::yes : Keep::no);
      case 3: {
        Shape wider = x.shape();
        wider.insert(wider.begin(), 1 + below(2));
        return wider.size() > 4 ? x : expand(x, wider);
      }
      case 4:
        return x.rank() == 0 ? x : slice(x, axis, 0, x.shape()[static_cast<size_t>(axis)]);
      default:
        return x.rank() != 2 ? x : transpose(matmul(x, x, true, false), {1, 0});
    }
  }

  Value step() {
    const Value x = pick();
    switch (below(3)) {
      case 0:
        return unary(x);
      case 1:
        return binary(x);
      default:
        return movement(x);
    }
  }

  std::mt19937 random_;
  Graph graph_;
  Builder builder_{graph_};
  Values values_;
};

std::vector<HostTensor> outputs_of(const Graph& graph) {
  const auto plan = make_plan(graph, cpu::kernel_set(), {});
  AlignedBytes parameters(plan->parameters()->bytes());
  for (const GraphInput& input : graph.inputs) {
    const ParameterSlot* slot = plan->parameters()->find(input.name);
    if (slot) write_slot(*slot, *input.initial, parameters.data(), cpu::kernel_set());
  }
  Replica replica(plan, {parameters.data(), nullptr, nullptr});
  replica.run();
  std::vector<HostTensor> result;
  for (const GraphOutput& o : graph.outputs) result.push_back(replica.read(*plan->find_output(o.name)));
  return result;
}

TEST(PassesProperty, RandomGraphsKeepTheirValues) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random(seed);
    Graph optimised = random.graph();
    PassOptions options;
    options.verify_each = true;
    options.evaluate = evaluator(cpu::kernel_set());
    optimise(optimised, options);
    EXPECT_LE(optimised.nodes.size(), random.graph().nodes.size());
    const std::vector<HostTensor> expected = outputs_of(random.graph()), got = outputs_of(optimised);
    for (size_t k = 0; k < expected.size(); ++k) {
      ASSERT_EQ(got[k].dims, expected[k].dims);
      for (size_t i = 0; i < expected[k].as<double>().size(); ++i) {
        const double e = expected[k].as<double>()[i];
        ASSERT_NEAR(got[k].as<double>()[i], e, 1e-9 * (1 + std::abs(e))) << "seed " << seed << "\n"
                                                                         << to_text(random.graph()) << "\n"
                                                                         << to_text(optimised);
      }
    }
  }
}

}  // namespace
}  // namespace arbalest
