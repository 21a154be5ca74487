// Gradients of every primitive in double precision against central differences, through plan and replica.
//
// The loss is the sum of the outputs, each element weighted with a random number. Every float operand is a parameter.

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "graph/differentiate.h"
#include "tests/exec/gradient_cases.h"
#include "tests/plan_runner.h"

namespace arbalest {
namespace {

TensorPtr tensor_of(const GradientOperand& o, RandomNumbers& numbers) {
  HostTensor t(DataType::f64, o.dims);
  const auto elements = t.as<double>();
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = o.values.empty() ? numbers.next() + o.least + 1 : o.values[i];
  return std::make_shared<const HostTensor>(o.kind == OperandKind::index ? t.to(DataType::i64) : t);
}

// Outputs that the primitives define to carry no gradient of their own.
bool carries_gradient(const Primitive& primitive, size_t output) {
  const bool first_only =
      std::holds_alternative<BatchNorm>(primitive) || std::holds_alternative<CrossEntropy>(primitive);
  return output == 0 || !first_only;
}

Graph graph_of(const GradientCase& c) {
  Graph graph;
  Builder b(graph);
  b.set_origin(c.name);
  RandomNumbers numbers;
  Values inputs;
  for (const GradientOperand& o : c.operands) {
    const TensorPtr value = tensor_of(o, numbers);
    if (o.kind != OperandKind::parameter) {
      inputs.push_back(b.constant(value));
    } else {
      inputs.push_back(b.add_input("operand " + std::to_string(inputs.size()), InputRole::parameter,
                                   {DataType::f64, value->dims}, value));
    }
  }
  const Values outputs = b.emit(c.primitive, inputs);
  Value loss = b.scalar(0, DataType::f64);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!is_float(outputs[i].dtype()) || !carries_gradient(c.primitive, i)) continue;
    const Value weighted = outputs[i] * b.constant(tensor_of({outputs[i].shape().dims()}, numbers));
    std::vector<int> axes;
    for (int axis = 0; axis < weighted.rank(); ++axis) axes.push_back(axis);
    loss = loss + reduce(Reduction::sum, weighted, axes, Keep::no);
  }
  graph.loss = loss.id();
  return graph;
}

PlanRunner runner_of(Graph graph, const PassOptions& passes, std::shared_ptr<const ParameterLayout> layout) {
  optimise(graph, passes);
  verify(graph);
  PlanOptions options;
  options.parameters = std::move(layout);
  return {make_plan(graph, cpu::kernel_set(), options), graph};
}

PassOptions all_passes() {
  PassOptions options;
  options.evaluate = evaluator(cpu::kernel_set());
  options.verify_each = true;
  return options;
}

PassOptions no_passes() {
  PassOptions options;
  options.skip = {"drop dead nodes", "simplify movement", "share subexpressions", "fuse maps"};
  return options;
}

TEST(GradientCheck, EveryCase) {
  for (const GradientCase& c : gradient_cases()) {
    SCOPED_TRACE(c.name);
    try {
      const Graph forward_graph = graph_of(c);
      Graph training_graph = forward_graph;
      differentiate(training_graph);
      PlanRunner training = runner_of(training_graph, all_passes(), nullptr);
      PlanRunner plain = runner_of(training_graph, no_passes(), nullptr);
      PlanRunner forward = runner_of(forward_graph, all_passes(), training.layout());
      const double loss = training.loss();
      EXPECT_NEAR(plain.loss(), loss, 1e-9 * (1 + std::abs(loss)));
      for (const GraphInput& input : forward_graph.inputs) {
        const HostTensor got = training.gradient(input.name), without_passes = plain.gradient(input.name);
        const std::vector<double> expected = central_differences(forward, input.name, *input.initial);
        for (size_t i = 0; i < expected.size(); ++i) {
          const double tolerance = 1e-6 * (1 + std::abs(expected[i]));
          EXPECT_NEAR(got.as<double>()[i], expected[i], tolerance) << input.name << " element " << i;
          EXPECT_NEAR(without_passes.as<double>()[i], expected[i], tolerance) << input.name << " element " << i;
        }
      }
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

// A primitive that no row differentiates, and that no gradient of a row consists of, fails.
TEST(GradientCheck, CoversEveryPrimitive) {
  std::set<size_t> covered = {
      Primitive(Constant{}).index(),      Primitive(ShapeTensor{}).index(),  // no inputs
      Primitive(RandomUniform{}).index(), Primitive(ArgReduce{}).index(),    // the output is an integer
      Primitive(StopGradient{}).index(),                                     // no gradient, by definition
  };
  for (const GradientCase& c : gradient_cases()) {
    Graph graph = graph_of(c);
    differentiate(graph);
    for (const Node& n : graph.nodes) covered.insert(n.primitive.index());
  }
  EXPECT_EQ(covered.size(), std::variant_size_v<PrimitiveVariant>);
}

}  // namespace
}  // namespace arbalest
