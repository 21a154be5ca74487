#include "tests/onnx_import/operator_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "exec/plan_family.h"
#include "exec/segmented_replica.h"
#include "graph/builder.h"
#include "onnx_import/importer.h"
#include "tests/onnx_import/operator_types.h"
#include "tests/plan_runner.h"

namespace arbalest {
namespace {

HostTensor random_tensor(const Dims& dims, RandomNumbers& numbers) {
  HostTensor t(DataType::f64, dims);
  for (double& x : t.as<double>()) x = numbers.next();
  return t;
}

// The loss that is checked: every element counts with a weight of its own, or they all count alike, as those of outputs
// do whose size the data tell.
void add_sum_of_outputs(Graph& graph, bool weighted) {
  Builder b(graph);
  RandomNumbers numbers;
  Value loss = b.scalar(0, DataType::f64);
  for (const GraphOutput& output : graph.outputs) {
    const Value y = b.value(output.value);
    if (!is_float(y.dtype())) continue;
    const Value weights = weighted && y.shape().is_static()
                              ? b.constant(std::make_shared<const HostTensor>(random_tensor(y.shape().dims(), numbers)))
                              : b.scalar(1, DataType::f64);
    std::vector<int> axes;
    for (int axis = 0; axis < y.rank(); ++axis) axes.push_back(axis);
    loss = loss + reduce(Reduction::sum, cast(y, DataType::f64) * weights, axes, Keep::no);
  }
  graph.outputs.clear();
  graph.loss = loss.id();
}

// As PlanRunner, but of graphs that may have several segments.
class ModelRunner {
 public:
  ModelRunner(const Graph& graph, bool gradients, std::shared_ptr<const ParameterLayout> layout) {
    CompileOptions options;
    options.gradients = gradients;
    options.parameters = std::move(layout);
    const auto plans = std::make_shared<PlanFamily>(graph, cpu::kernel_set(), options);
    const std::shared_ptr<const Plan> plan = plans->plan(0, {});
    layout_ = plan->parameters();
    parameters_.resize(layout_->bytes());
    gradients_.resize(parameters_.size());
    states_.resize(plan->states()->bytes());
    for (const GraphInput& input : graph.inputs)
      if (input.role == InputRole::parameter) write(input.name, *input.initial);
    replica_ = std::make_unique<SegmentedReplica>(
        plans, ReplicaRegions{parameters_.data(), gradients_.data(), states_.data()});
    replica_->set_sizes({});
  }

  std::shared_ptr<const ParameterLayout> layout() const { return layout_; }
  void write(const std::string& name, const HostTensor& value) {
    write_slot(*layout_->find(name), value, parameters_.data(), cpu::kernel_set());
  }
  const Replica& run() {
    replica_->run();
    return replica_->whole();
  }
  double loss() { return run().loss(); }
  HostTensor gradient(const std::string& name) {
    return read_slot(*layout_->find(name), gradients_.data(), cpu::kernel_set());
  }

 private:
  std::shared_ptr<const ParameterLayout> layout_;
  AlignedBytes parameters_, gradients_, states_;
  std::unique_ptr<SegmentedReplica> replica_;
};

void compare_with_differences(ModelRunner& forward, const std::string& name, const HostTensor& value,
                              const HostTensor& gradient) {
  constexpr double kTolerance = 1e-6;
  const std::vector<double> expected = central_differences(forward, name, value);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(gradient.as<double>()[i], expected[i], kTolerance * (1 + std::abs(expected[i])))
        << name << " element " << i;
  }
}

// Moves the numbers of [-1, 1] to the bounds.
std::string add_within(ModelBuilder& m, const std::string& name, const Within& within) {
  const auto constant = [&](const char* part, double value) {
    m.graph.initializer(name + part, f64_tensor({}, {value}));
    return name + part;
  };
  const std::string half = constant("_half", (within.high - within.low) / 2),
                    middle = constant("_middle", (within.high + within.low) / 2);
  m.graph.node("Mul", {name, half}, {name + "_scaled"}).node("Add", {name + "_scaled", middle}, {name + "_moved"});
  return name + "_moved";
}

CheckedOperators& all_checked() {
  static CheckedOperators all;
  return all;
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
    } else if (const auto* within = std::get_if<Within>(&c.operands[i])) {
      m.graph.initializer(name, random_tensor(within->dims, numbers));
      parameters.push_back(name);
      name = add_within(m, name, *within);
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
  ModelRunner runner(imported.graph, false, nullptr);
  const Replica& replica = runner.run();
  std::map<std::string, HostTensor> outputs;
  for (const PlanTensor& output : replica.plan().outputs()) outputs[output.name] = replica.read(output);
  return outputs;
}

HostTensor gradient_of_sum(const ModelFile& file, const std::string& parameter) {
  ImportOptions options;
  options.selection.train = {parameter};
  options.forms.float64 = true;
  Imported imported = import_model(file, options);
  add_sum_of_outputs(imported.graph, false);
  ModelRunner runner(imported.graph, true, nullptr);
  runner.loss();
  return runner.gradient(parameter);
}

namespace {

// Whether all gradients are right.
bool compare_gradients(const std::string& name, const ModelBuilder& model, const std::vector<std::string>& parameters) {
  SCOPED_TRACE(name);
  const auto failures = [] {
    return testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
  };
  const int before = failures();
  try {
    const ModelFile file = parse_model_file(model.bytes(), name + ".onnx");
    ImportOptions options;
    options.selection.train = parameters;
    options.forms.float64 = true;
    Imported imported = import_model(file, options);
    add_sum_of_outputs(imported.graph, true);
    ModelRunner training(imported.graph, true, nullptr);
    ModelRunner forward(imported.graph, false, training.layout());
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
  return failures() == before;
}

void count_operators_of(const GraphBuilder& graph) {
  for (const NodeDescription& node : graph.nodes) all_checked().try_emplace({node.domain, node.op_type}, false);
}

}  // namespace

const CheckedOperators& checked_operators() { return all_checked(); }

void count_as_checked(const std::string& op, const std::string& domain) { all_checked()[{domain, op}] = true; }

void check_gradient(const std::string& name, const ModelBuilder& model, const std::vector<std::string>& parameters) {
  if (compare_gradients(name, model, parameters)) count_operators_of(model.graph);
}

ModelBuilder empty_model(const OperatorCase& c) {
  ModelBuilder m(c.domain.empty() ? c.opset : 17);
  if (!c.domain.empty()) m.opset(c.domain, c.opset);
  return m;
}

void add_node(ModelBuilder& m, const OperatorCase& c, const Strings& inputs) {
  Strings outputs;
  for (int i = 0; i < c.outputs; ++i) {
    outputs.push_back("y" + std::to_string(i));
    m.graph.output(outputs.back());
  }
  m.graph.node(c.op, inputs, outputs, c.attributes, "node", c.domain);
}

void check_gradient(const OperatorCase& c) {
  ModelBuilder m = empty_model(c);
  Strings inputs;
  const std::vector<std::string> parameters = describe_operands(c, m, inputs);
  add_node(m, c, inputs);
  if (compare_gradients(c.op + ", " + c.name, m, parameters)) count_as_checked(c.op, c.domain);
  try_types(c);
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
