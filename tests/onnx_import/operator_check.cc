#include "tests/onnx_import/operator_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "exec/compile.h"
#include "graph/builder.h"
#include "onnx_import/importer.h"
#include "tests/plan_runner.h"

namespace arbalest {
namespace {

HostTensor random_tensor(const Dims& dims, RandomNumbers& numbers) {
  HostTensor t(DataType::f64, dims);
  for (double& x : t.as<double>()) x = numbers.next();
  return t;
}

// The loss that is checked: every element counts with a weight of its own, or they all count alike.
void add_sum_of_outputs(Graph& graph, bool weighted) {
  Builder b(graph);
  RandomNumbers numbers;
  Value loss = b.scalar(0, DataType::f64);
  for (const GraphOutput& output : graph.outputs) {
    const Value y = b.value(output.value);
    if (!is_float(y.dtype())) continue;
    const Value weights = weighted
                              ? b.constant(std::make_shared<const HostTensor>(random_tensor(y.shape().dims(), numbers)))
                              : b.scalar(1, DataType::f64);
    std::vector<int> axes;
    for (int axis = 0; axis < y.rank(); ++axis) axes.push_back(axis);
    loss = loss + reduce(Reduction::sum, cast(y, DataType::f64) * weights, axes, Keep::no);
  }
  graph.outputs.clear();
  graph.loss = loss.id();
}

PlanRunner runner_of(const Graph& graph, bool gradients, std::shared_ptr<const ParameterLayout> layout) {
  CompileOptions options;
  options.gradients = gradients;
  options.parameters = std::move(layout);
  return {compile(graph, {}, cpu::kernel_set(), options), graph};
}

void compare_with_differences(PlanRunner& forward, const std::string& name, const HostTensor& value,
                              const HostTensor& gradient) {
  constexpr double kTolerance = 1e-6;
  const std::vector<double> expected = central_differences(forward, name, value);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(gradient.as<double>()[i], expected[i], kTolerance * (1 + std::abs(expected[i])))
        << name << " element " << i;
  }
}

std::vector<std::string> describe_operands(const OperatorCase& c, ModelBuilder& m, Strings& inputs) {
  std::vector<std::string> parameters;
  RandomNumbers numbers;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    std::string name(1, static_cast<char>('a' + i));
    if (const auto* dims = std::get_if<Dims>(&c.operands[i])) {
      m.graph.initializer(name, random_tensor(*dims, numbers));
      parameters.push_back(name);
    } else if (const auto* constant = std::get_if<HostTensor>(&c.operands[i])) {
      m.graph.initializer(name, *constant);
    } else {
      name = "";
    }
    inputs.push_back(name);
  }
  return parameters;
}

}  // namespace

std::map<std::string, HostTensor> run_model(const ModelFile& file) {
  ImportOptions options;
  options.mode = ImportMode::inference;
  const Imported imported = import_model(file, options);
  PlanRunner runner = runner_of(imported.graph, false, nullptr);
  runner.replica().run();
  std::map<std::string, HostTensor> outputs;
  for (const PlanTensor& output : runner.plan().outputs()) outputs[output.name] = runner.replica().read(output);
  return outputs;
}

HostTensor gradient_of_sum(const ModelFile& file, const std::string& parameter) {
  ImportOptions options;
  options.selection.train = {parameter};
  options.forms.float64 = true;
  Imported imported = import_model(file, options);
  add_sum_of_outputs(imported.graph, false);
  PlanRunner runner = runner_of(imported.graph, true, nullptr);
  runner.loss();
  return runner.gradient(parameter);
}

void check_gradient(const std::string& name, const ModelBuilder& model, const std::vector<std::string>& parameters) {
  SCOPED_TRACE(name);
  try {
    const ModelFile file = parse_model_file(model.bytes(), name + ".onnx");
    ImportOptions options;
    options.selection.train = parameters;
    options.forms.float64 = true;
    Imported imported = import_model(file, options);
    add_sum_of_outputs(imported.graph, true);
    PlanRunner training = runner_of(imported.graph, true, nullptr);
    PlanRunner forward = runner_of(imported.graph, false, training.layout());
    training.loss();
    size_t checked = 0;
    for (const GraphInput& input : imported.graph.inputs) {
      if (input.role != InputRole::parameter) continue;
      compare_with_differences(forward, input.name, *input.initial, training.gradient(input.name));
      ++checked;
    }
    EXPECT_EQ(checked, parameters.size());
  } catch (const Error& e) {
    ADD_FAILURE() << e.what();
  }
}

void check_gradient(const OperatorCase& c) {
  ModelBuilder m(c.domain.empty() ? c.opset : 17);
  if (!c.domain.empty()) m.opset(c.domain, c.opset);
  Strings inputs, outputs;
  const std::vector<std::string> parameters = describe_operands(c, m, inputs);
  for (int i = 0; i < c.outputs; ++i) {
    outputs.push_back("y" + std::to_string(i));
    m.graph.output(outputs.back());
  }
  m.graph.node(c.op, inputs, outputs, c.attributes, "node", c.domain);
  check_gradient(c.name, m, parameters);
}

HostTensor f64_tensor(Dims dims, const std::vector<double>& values) {
  HostTensor t(DataType::f64, std::move(dims));
  std::copy(values.begin(), values.end(), t.as<double>().begin());
  return t;
}

HostTensor i64_tensor(Dims dims, const std::vector<int64_t>& values) {
  return HostTensor::i64(std::move(dims), values);
}

HostTensor bool_tensor(Dims dims, const std::vector<int64_t>& values) {
  return i64_tensor(std::move(dims), values).to(DataType::boolean);
}

}  // namespace arbalest
