#include "tests/onnx_import/operator_types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/support.h"
#include "tests/onnx_import/operator_check.h"
#include "tests/plan_runner.h"

namespace arbalest {
namespace {

constexpr DataType kTypes[] = {DataType::f16, DataType::bf16, DataType::f32,    DataType::f64, DataType::i8,
                               DataType::i16, DataType::i32,  DataType::i64,    DataType::u8,  DataType::u16,
                               DataType::u32, DataType::u64,  DataType::boolean};

bool includes(OperatorTypes types, DataType t) {
  switch (types) {
    case OperatorTypes::floats:
      return is_float(t);
    case OperatorTypes::numbers:
      return t != DataType::boolean;
    case OperatorTypes::any:
      return true;
    case OperatorTypes::integers:
      return is_integer(t);
    case OperatorTypes::booleans:
      return t == DataType::boolean;
  }
  return false;
}

TriedTypes& all_tried() {
  static TriedTypes all;
  return all;
}

}  // namespace

const TriedTypes& tried_types() { return all_tried(); }

std::vector<DataType> types_left(const std::string& domain, const std::string& name) {
  std::vector<DataType> left;
  const auto& tried = all_tried()[{domain, name}];
  for (const OperatorSupport& o : supported_operators()) {
    if (o.domain != domain || o.name != name) continue;
    for (const DataType t : kTypes) {
      const auto found = tried.find(t);
      if (includes(o.types, t) && (found == tried.end() || !found->second.empty())) left.push_back(t);
    }
  }
  return left;
}

namespace {

// Small numbers: of integers none is 0 or negative.
HostTensor in_type(HostTensor values, DataType t) {
  for (double& x : values.as<double>()) {
    if (is_integer(t)) x = std::max(1.0, std::round(2 * std::abs(x)));
    if (t == DataType::boolean) x = x > 0 ? 1 : 0;
  }
  return values.to(t);
}

HostTensor random_within(const Within& within, RandomNumbers& numbers) {
  HostTensor values(DataType::f64, within.dims);
  for (double& x : values.as<double>()) x = within.low + (numbers.next() + 1) / 2 * (within.high - within.low);
  return values;
}

ModelBuilder model_in_type(const OperatorCase& c, DataType t) {
  ModelBuilder m = empty_model(c);
  RandomNumbers numbers;
  Strings inputs;
  for (const CheckedOperand& operand : c.operands) {
    std::string name(1, static_cast<char>('a' + inputs.size()));
    if (const auto* dims = std::get_if<Dims>(&operand)) {
      m.graph.initializer(name, in_type(random_within({*dims, -1, 1}, numbers), t));
    } else if (const auto* within = std::get_if<Within>(&operand)) {
      m.graph.initializer(name, in_type(random_within(*within, numbers), t));
    } else if (const auto* constant = std::get_if<HostTensor>(&operand)) {
      m.graph.initializer(name, constant->dtype == DataType::f64 ? in_type(*constant, t) : *constant);
    } else {
      name = "";
    }
    inputs.push_back(name);
  }
  add_node(m, c, inputs);
  return m;
}

void try_type(const ModelBuilder& m, const std::string& domain, const std::string& name, DataType t) {
  std::string& failure = all_tried()[{domain, name}][t];
  try {
    run_model(parse_model_file(m.bytes(), "m.onnx"));
    failure.clear();
  } catch (const Error& e) {
    failure = e.what();
  }
}

// Those whose type is an attribute.
void try_types(const std::string& op, int64_t opset, const std::vector<CheckedOperand>& operands,
               const std::function<Attributes(DataType)>& attributes) {
  for (const DataType t : types_left("", op))
    try_type(model_in_type({op, op, opset, operands, attributes(t)}, t), "", op, t);
}

const Dims kTable{2, 3};

TEST(OperatorTypes, WithoutGradientRow) {
  const HostTensor some = i64_tensor({}, {2});
  for (const OperatorCase& c : std::vector<OperatorCase>{
           {"", "And", 7, {kTable, kTable}, {}},
           {"", "Or", 7, {kTable, kTable}, {}},
           {"", "Xor", 7, {kTable, kTable}, {}},
           {"", "Not", 1, {kTable}, {}},
           {"", "BitShift", 28, {kTable, kTable}, {{"direction", "LEFT"}}},
           {"", "BitwiseAnd", 18, {kTable, kTable}, {}},
           {"", "BitwiseOr", 18, {kTable, kTable}, {}},
           {"", "BitwiseXor", 18, {kTable, kTable}, {}},
           {"", "BitwiseNot", 18, {kTable}, {}},
           {"", "ArgMax", 13, {kTable}, {{"axis", 1}}},
           {"", "ArgMin", 13, {kTable}, {{"axis", 1}}},
           {"", "Bernoulli", 15, {Within{kTable, 0.1, 0.9}}, {}},
           {"", "Equal", 19, {kTable, kTable}, {}},
           {"", "Greater", 13, {kTable, kTable}, {}},
           {"", "GreaterOrEqual", 16, {kTable, kTable}, {}},
           {"", "Less", 13, {kTable, kTable}, {}},
           {"", "LessOrEqual", 16, {kTable, kTable}, {}},
           {"", "EyeLike", 9, {kTable}, {}},
           {"", "Ceil", 13, {kTable}, {}},
           {"", "Floor", 13, {kTable}, {}},
           {"", "Round", 11, {kTable}, {}},
           {"", "Sign", 13, {kTable}, {}},
           {"", "Hardmax", 13, {kTable}, {}},
           {"", "IsInf", 20, {kTable}, {}},
           {"", "IsNaN", 20, {kTable}, {}},
           {"", "Multinomial", 7, {kTable}, {{"sample_size", 2}}},
           {"", "NonMaxSuppression", 11, {Dims{1, 3, 4}, Dims{1, 1, 3}, some}, {}},
           {"", "NonZero", 13, {kTable}, {}},
           {"", "RandomNormalLike", 1, {kTable}, {}},
           {"", "RandomUniformLike", 1, {kTable}, {}},
           {"", "Shape", 15, {kTable}, {}},
           {"", "Size", 13, {kTable}, {}},
           {"", "Unique", 11, {kTable}, {}},
           {"", "QuantizeLinear", 21, {kTable, f64_tensor({}, {0.1})}, {}},
           {"", "DequantizeLinear", 21, {kTable, HostTensor::f32({}, std::vector<float>{0.1f})}, {}},
           {"", "DynamicQuantizeLinear", 11, {kTable}, {}},
           {"", "QuantizeLinear", 1, {kTable, f64_tensor({}, {0.1})}, {}, 1, "com.microsoft"},
           {"", "DequantizeLinear", 1, {kTable, HostTensor::f32({}, std::vector<float>{0.1f})}, {}, 1, "com.microsoft"},
       })
    try_types(c);
}

TEST(OperatorTypes, OfAnAttribute) {
  const HostTensor size = i64_tensor({}, {8});
  const auto numbered = [](const char* name) {
    return [name](DataType t) { return Attributes{{name, onnx_data_type(t)}}; };
  };
  const auto random = [](DataType t) { return Attributes{{"dtype", onnx_data_type(t)}, {"shape", Ints{2, 3}}}; };
  const auto value = [](DataType t) { return Attributes{{"value", in_type(f64_tensor({1}, {1}), t)}}; };
  try_types("BitCast", 26, {kTable}, numbered("to"));
  try_types("Constant", 13, {}, value);
  try_types("ConstantOfShape", 9, {i64_tensor({2}, {2, 3})}, value);
  try_types("RandomNormal", 1, {}, random);
  try_types("RandomUniform", 1, {}, random);
  for (const char* window : {"BlackmanWindow", "HammingWindow", "HannWindow"})
    try_types(window, 17, {size}, numbered("output_datatype"));
  const HostTensor rate = i64_tensor({}, {8000}), low = HostTensor::f32({}, std::vector<float>{100}),
                   high = HostTensor::f32({}, std::vector<float>{3000});
  try_types("MelWeightMatrix", 17, {size, i64_tensor({}, {16}), rate, low, high}, numbered("output_datatype"));
}

ModelBuilder model_of_sequences(DataType t) {
  const auto body = [](Strings inputs, const Strings& from, const Strings& to) {
    GraphBuilder g("body");
    for (const std::string& name : inputs) g.input(name);
    for (size_t i = 0; i < from.size(); ++i) g.node("Identity", {from[i]}, {to[i]}).output(to[i]);
    return g;
  };
  ModelBuilder m(18);
  for (const char* name : {"a", "b"}) m.graph.initializer(name, in_type(f64_tensor({2}, {0.3, -1}), t));
  m.graph.initializer("one", i64_tensor({}, {1}))
      .initializer("yes", bool_tensor({}, {1}))
      .node("SequenceEmpty", {}, {"none"}, {{"dtype", onnx_data_type(t)}})
      .node("SequenceInsert", {"none", "a"}, {"s"})
      .node("SequenceConstruct", {"a", "b", "a"}, {"three"})
      .node("SequenceErase", {"three", "one"}, {"two"})
      .node("SequenceMap", {"two"}, {"same"}, {{"body", body({"e"}, {"e"}, {"f"})}})
      .node("ConcatFromSequence", {"same"}, {"joined"}, {{"axis", 0}})
      .node("SplitToSequence", {"joined"}, {"parts"}, {{"axis", 0}})
      .node("SequenceLength", {"parts"}, {"count"})
      .node("SequenceAt", {"parts", "one"}, {"part"})
      .node("Optional", {"part"}, {"o"})
      .node("OptionalHasElement", {"o"}, {"has"})
      .node("OptionalGetElement", {"o"}, {"e1"})
      .node("If", {"has"}, {"e2"}, {{"then_branch", body({}, {"e1"}, {"x"})}, {"else_branch", body({}, {"a"}, {"y"})}})
      .node("Loop", {"count", "yes", "e2"}, {"e3"}, {{"body", body({"i", "c", "h"}, {"c", "h"}, {"c2", "h2"})}})
      .node("Scan", {"e3", "joined"}, {"e4", "all"},
            {{"body", body({"h", "x"}, {"h", "x"}, {"h2", "x2"})}, {"num_scan_inputs", 1}})
      .output("all");
  return m;
}

TEST(OperatorTypes, OfSequencesAndBodies) {
  for (const DataType t : kTypes) {
    const ModelBuilder m = model_of_sequences(t);
    for (const NodeDescription& node : m.graph.nodes) try_type(m, node.domain, node.op_type, t);
  }
}

}  // namespace

void try_types(const OperatorCase& c) {
  for (const DataType t : types_left(c.domain, c.op)) try_type(model_in_type(c, t), c.domain, c.op, t);
}

}  // namespace arbalest
