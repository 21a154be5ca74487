// One operator a row: the graph that it becomes, or the complaint. What the primitives then compute is tested where
// they run.
#include <gmock/gmock.h>

#include <sstream>

#include "graph/print.h"
#include "onnx_import/importer.h"
#include "onnx_import/model_builder.h"
#include "onnx_import/op_context.h"
#include "tests/onnx_import/fixtures.h"

namespace arbalest {
namespace {

using Operand = std::variant<TensorType, HostTensor>;
using Lines = std::vector<std::string>;

// What a row feeds: names are a, b, c, ... in order; the outputs are y, y1, y2, ...
struct Row {
  const char* name;
  const char* op;
  int64_t opset;
  std::vector<Operand> operands;
  Attributes attributes;
  Lines graph;                  // the nodes, without their origin
  const char* fails = nullptr;  // part of the message instead
  int outputs = 1;
};

TensorType i64(Shape shape) { return {DataType::i64, std::move(shape)}; }
HostTensor ints(const std::vector<int64_t>& values) {
  return HostTensor::i64({static_cast<int64_t>(values.size())}, values);
}
HostTensor scalar(float value) { return HostTensor::f32({}, std::vector<float>{value}); }
HostTensor floats(const std::vector<float>& values) {
  return HostTensor::f32({static_cast<int64_t>(values.size())}, values);
}

ModelBuilder model_of(const Row& row) {
  ModelBuilder m(row.opset);
  Strings inputs, outputs;
  for (size_t i = 0; i < row.operands.size(); ++i) {
    std::string name(1, static_cast<char>('a' + i));
    if (const auto* type = std::get_if<TensorType>(&row.operands[i])) {
      m.graph.input(name, *type);
    } else if (const auto& tensor = std::get<HostTensor>(row.operands[i]); tensor.dims == Dims{0}) {
      name = "";  // left out
    } else {
      m.graph.initializer(name, tensor);
    }
    inputs.push_back(name);
  }
  for (int i = 0; i < row.outputs; ++i) {
    outputs.push_back(i == 0 ? "y" : "y" + std::to_string(i));
    m.graph.output(outputs.back());
  }
  m.graph.node(row.op, inputs, outputs, row.attributes, "node");
  return m;
}

Lines node_lines(const Graph& graph) {
  std::stringstream text(to_text(graph));
  Lines lines;
  for (std::string line; std::getline(text, line);) {
    if (line.find(" = ") == std::string::npos || line.starts_with("output ") || line.starts_with("next ")) continue;
    lines.push_back(line.substr(0, line.find("  # ")));
  }
  return lines;
}

void check(const Row& row) {
  const std::string name = std::string(row.op) + ", " + row.name;
  const ModelBuilder model = model_of(row);
  try {
    const Imported imported = import_model(*load_model_bytes(model.bytes(), "m.onnx"), {});
    verify(imported.graph);
    EXPECT_EQ(row.fails, nullptr) << name << " should fail";
    EXPECT_EQ(node_lines(imported.graph), row.graph) << name;
  } catch (const Error& e) {
    if (row.fails == nullptr) {
      ADD_FAILURE() << name << ": " << e.what();
    } else {
      EXPECT_THAT(e.what(), testing::HasSubstr(row.fails)) << name;
    }
  }
}

const HostTensor kNone;

TEST(Operators, Elementwise) {
  const TensorType x = f32({kN, 3});
  for (const Row& row : std::vector<Row>{
           {"of two tensors", "Add", 17, {x, f32({3})}, {}, {"%0 = Map(%a, %b) {expression x0 + x1} : float32 N x 3"}},
           {"before opset 7 from an axis on",
            "Mul",
            6,
            {f32({kN, 3, 4}), f32({3})},
            {{"axis", 1}, {"broadcast", 1}},
            {"%0 = Reshape(%b) {shape [3, 1]} : float32 3 x 1",
             "%1 = Map(%a, %0) {expression x0 * x1} : float32 N x 3 x 4"}},
           {"of different types", "Add", 17, {x, i64({3})}, {}, {}, "operands are float32 N x 3 and int64 3"},
           {"shapes that do not fit", "Add", 17, {x, f32({4})}, {}, {}, "shapes N x 3 and 4 cannot be broadcast"},
           {"is Less exchanged",
            "Greater",
            13,
            {x, f32({3})},
            {},
            {"%0 = Map(%b, %a) {expression x0 < x1} : bool N x 3"}},
           {"of a text of integers", "Exp", 13, {i64({3})}, {}, {}, "scalar exp: not defined for int64"},
           {"with a constant exponent",
            "Pow",
            15,
            {x, scalar(2)},
            {},
            {"%0 = Map(%a) {expression x0 * x0} : float32 N x 3"}},
           {"select",
            "Where",
            16,
            {TensorType{DataType::boolean, {kN, 1}}, x, f32({3})},
            {},
            {"%0 = Map(%a, %b, %c) {expression select(x0, x1, x2)} : float32 N x 3"}},
           {"of three",
            "Max",
            13,
            {x, f32({3}), f32({1})},
            {},
            {"%0 = Map(%a, %b) {expression max(x0, x1)} : float32 N x 3",
             "%1 = Map(%0, %c) {expression max(x0, x1)} : float32 N x 3"}},
           {"to integers", "Cast", 13, {x}, {{"to", 7}}, {"%0 = Map(%a) {expression int64(x0)} : int64 N x 3"}},
           {"to half is nothing", "Cast", 13, {x}, {{"to", 10}}, {}},
           {"to text", "Cast", 13, {x}, {{"to", 8}}, {}, "a cast to string"},
       }) {
    check(row);
  }
}

TEST(Operators, Activation) {
  const TensorType x = f32({kN, 3});
  for (const Row& row : std::vector<Row>{
           {"max with 0", "Relu", 14, {x}, {}, {"%0 = Map(%a) {expression relu(x0)} : float32 N x 3"}},
           {"slope by the input's sign",
            "LeakyRelu",
            16,
            {x},
            {{"alpha", -0.25}},
            {"%0 = Map(%a) {expression select(x0 < 0, -0.25 * x0, x0)} : float32 N x 3"}},
           {"both bounds known",
            "Clip",
            13,
            {x, scalar(0), scalar(6)},
            {},
            {"%0 = Map(%a) {expression select(x0 < 0, 0, x0)} : float32 N x 3",
             "%1 = Map(%0) {expression select(x0 > 6, 6, x0)} : float32 N x 3"}},
           {"attributes, one bound",
            "Clip",
            6,
            {x},
            {{"max", 6.0}},
            {"%0 = Map(%a) {expression select(x0 > 6, 6, x0)} : float32 N x 3"}},
           {"no bound", "Clip", 13, {x}, {}, {}},
           {"last axis", "Softmax", 13, {x}, {}, {"%0 = Softmax(%a) {axis 1, log no} : float32 N x 3"}},
           {"over all axes from 1 on",
            "LogSoftmax",
            11,
            {f32({kN, 3, 4})},
            {},
            {"%0 = Reshape(%a) {shape [N, 12]} : float32 N x 12", "%1 = Softmax(%0) {axis 1, log yes} : float32 N x 12",
             "%2 = Reshape(%1) {shape [N, 3, 4]} : float32 N x 3 x 4"}},
           {"axis out of range", "Softmax", 13, {x}, {{"axis", 2}}, {}, "axis 2 of a rank-2 tensor"},
           {"an unknown form",
            "Gelu",
            20,
            {x},
            {{"approximate", "sigmoid"}},
            {},
            "attribute 'approximate' is 'sigmoid'"},
       }) {
    check(row);
  }
}

TEST(Operators, ConvolutionAndPooling) {
  const TensorType x = f32({kN, 4, 9, 9}), w = f32({6, 4, 3, 3});
  for (const Row& row : std::vector<Row>{
           {"bias, pads, strides",
            "Conv",
            11,
            {x, w, f32({6})},
            {{"pads", Ints{1, 0, 1, 2}}, {"strides", Ints{2, 1}}},
            {"%0 = Conv(%a, %b, %c) {strides [2, 1], dilations [1, 1], pads_begin [1, 0], pads_end [1, 2], groups 1, "
             "bias yes} : float32 N x 6 x 5 x 9"}},
           {"SAME_UPPER with stride 2: one row of padding, at the end",
            "Conv",
            11,
            {f32({kN, 4, 8, 8}), w},
            {{"auto_pad", "SAME_UPPER"}, {"strides", Ints{2, 2}}},
            {"%0 = Conv(%a, %b) {strides [2, 2], dilations [1, 1], pads_begin [0, 0], pads_end [1, 1], groups 1, bias "
             "no} : float32 N x 6 x 4 x 4"}},
           {"groups",
            "Conv",
            11,
            {x, f32({6, 2, 3, 3})},
            {{"group", 2}, {"dilations", Ints{2, 2}}},
            {"%0 = Conv(%a, %b) {strides [1, 1], dilations [2, 2], pads_begin [0, 0], pads_end [0, 0], groups 2, bias "
             "no} : float32 N x 6 x 5 x 5"}},
           {"too many channels",
            "Conv",
            11,
            {f32({kN, 3, 9, 9}), w},
            {},
            {},
            "node 'node' (Conv): weight expects 4 input channels, the input has 3"},
           {"unknown padding", "Conv", 11, {x, w}, {{"auto_pad", "NICE"}}, {}, "attribute 'auto_pad' is 'NICE'"},
           {"kernel_shape that contradicts the weight",
            "Conv",
            11,
            {x, w},
            {{"kernel_shape", Ints{5, 5}}},
            {},
            "attribute 'kernel_shape' is 5 x 5, but the weight's kernel is 3 x 3"},
           {"the gradient of a convolution",
            "ConvTranspose",
            11,
            {f32({kN, 6, 5, 5}), w},
            {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}},
            {"%0 = ConvBackwardData(%a, %b) {strides [2, 2], dilations [1, 1], pads_begin [1, 1], pads_end [1, 1], "
             "groups 1, spatial [10, 10]} : float32 N x 4 x 10 x 10"}},
           {"output_shape larger than the window reaches",
            "ConvTranspose",
            11,
            {f32({kN, 6, 5, 5}), w},
            {{"output_shape", Ints{8, 8}}},
            {"%0 = ConvBackwardData(%a, %b) {strides [1, 1], dilations [1, 1], pads_begin [0, 0], pads_end [0, 0], "
             "groups 1, spatial [7, 7]} : float32 N x 4 x 7 x 7",
             "%1 = Pad(%0) {begin [0, 0, 0, 0], end [0, 0, 1, 1], value 0} : float32 N x 4 x 8 x 8"}},
           {"ceil_mode",
            "MaxPool",
            12,
            {x},
            {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"ceil_mode", 1}},
            {"%0, %1 = MaxPool(%a) {strides [2, 2], dilations [1, 1], pads_begin [0, 0], pads_end [0, 0], kernel [2, "
             "2], ceil_mode yes} : float32 N x 4 x 5 x 5, int32 N x 4 x 5 x 5"}},
           {"padding counts",
            "AveragePool",
            7,
            {x},
            {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"count_include_pad", 1}},
            {"%0 = AveragePool(%a) {strides [1, 1], dilations [1, 1], pads_begin [1, 1], pads_end [1, 1], kernel [3, "
             "3], ceil_mode no, count_include_pad yes} : float32 N x 4 x 9 x 9"}},
           {"no kernel", "MaxPool", 12, {x}, {}, {}, "attribute 'kernel_shape' is missing"},
           {"over everything",
            "GlobalAveragePool",
            1,
            {x},
            {},
            {"%0 = AveragePool(%a) {strides [1, 1], dilations [1, 1], pads_begin [0, 0], pads_end [0, 0], kernel [9, "
             "9], ceil_mode no, count_include_pad no} : float32 N x 4 x 1 x 1"}},
           {"across channels",
            "LRN",
            13,
            {x},
            {{"size", 5}, {"alpha", 0.5}},
            {"%0 = Lrn(%a) {size 5, alpha 0.5, beta 0.75, bias 1} : float32 N x 4 x 9 x 9"}},
       }) {
    check(row);
  }
}

TEST(Operators, Linear) {
  const TensorType x = f32({kN, 3}), w = f32({3, 2});
  for (const Row& row : std::vector<Row>{
           {"bias of the columns",
            "Gemm",
            13,
            {x, w, f32({2})},
            {},
            {"%0 = MatMul(%a, %b, %c) {transpose_a no, transpose_b no, bias yes} : float32 N x 2"}},
           {"factors",
            "Gemm",
            13,
            {x, w, f32({2})},
            {{"alpha", 0.5}, {"beta", 2.0}},
            {"%0 = Map(%c) {expression 2 * x0} : float32 2",
             "%1 = MatMul(%a, %b) {transpose_a no, transpose_b no, bias no} : float32 N x 2",
             "%2 = Map(%1) {expression 0.5 * x0} : float32 N x 2",
             "%3 = Map(%2, %0) {expression x0 + x1} : float32 N x 2"}},
           {"without addend",
            "Gemm",
            11,
            {x, f32({2, 3})},
            {{"transB", 1}},
            {"%0 = MatMul(%a, %b) {transpose_a no, transpose_b yes, bias no} : float32 N x 2"}},
           {"a vector on the right",
            "MatMul",
            13,
            {f32({kN, 4, 3}), f32({3})},
            {},
            {"%0 = Reshape(%b) {shape [3, 1]} : float32 3 x 1",
             "%1 = MatMul(%a, %0) {transpose_a no, transpose_b no, bias no} : float32 N x 4 x 1",
             "%2 = Reshape(%1) {shape [N, 4]} : float32 N x 4"}},
           {"sizes that do not fit",
            "MatMul",
            13,
            {x, f32({4, 2})},
            {},
            {},
            "node 'node' (MatMul): the first operand (N x 3) has 3 columns, the second (4 x 2) 4 rows"},
       }) {
    check(row);
  }
}

TEST(Operators, Shape) {
  const TensorType x = f32({kN, 3, 4});
  for (const Row& row : std::vector<Row>{
           {"zero copies, -1 is inferred",
            "Reshape",
            13,
            {x, ints({0, -1})},
            {},
            {"%0 = Reshape(%a) {shape [N, 12]} : float32 N x 12"}},
           {"that does not fit",
            "Reshape",
            13,
            {f32({2, 3}), ints({4, 2})},
            {},
            {},
            "cannot reshape 2 x 3 (6 elements) to 4 x 2 (8 elements)"},
           {"a shape from the data", "Reshape", 13, {x, i64({2})}, {}, {}, "is computed from the data"},
           {"into two axes",
            "Flatten",
            13,
            {x},
            {{"axis", 2}},
            {"%0 = Reshape(%a) {shape [3*N, 4]} : float32 3*N x 4"}},
           {"axes as input",
            "Squeeze",
            13,
            {f32({kN, 1, 4}), ints({1})},
            {},
            {"%0 = Reshape(%a) {shape [N, 4]} : float32 N x 4"}},
           {"an axis that is not 1", "Squeeze", 13, {x, ints({1})}, {}, {}, "axis 1 of N x 3 x 4 has not size 1"},
           {"axes of the output",
            "Unsqueeze",
            11,
            {x},
            {{"axes", Ints{0, -1}}},
            {"%0 = Reshape(%a) {shape [1, N, 3, 4, 1]} : float32 1 x N x 3 x 4 x 1"}},
           {"reversed by default",
            "Transpose",
            13,
            {x},
            {},
            {"%0 = Transpose(%a) {permutation [2, 1, 0]} : float32 4 x 3 x N"}},
           {"both ways",
            "Expand",
            13,
            {f32({kN, 3, 1}), ints({1, 1, 4})},
            {},
            {"%0 = Expand(%a) {shape [N, 3, 4]} : float32 N x 3 x 4"}},
           {"repeats",
            "Tile",
            13,
            {x, ints({1, 2, 1})},
            {},
            {"%0 = Reshape(%a) {shape [N, 1, 3, 4]} : float32 N x 1 x 3 x 4",
             "%1 = Expand(%0) {shape [N, 2, 3, 4]} : float32 N x 2 x 3 x 4",
             "%2 = Reshape(%1) {shape [N, 6, 4]} : float32 N x 6 x 4"}},
           {"joined",
            "Concat",
            13,
            {x, f32({kN, 2, 4})},
            {{"axis", -2}},
            {"%0 = Concat(%a, %b) {axis 1} : float32 N x 5 x 4"}},
           {"no axis", "Concat", 13, {x}, {}, {}, "attribute 'axis' is missing"},
           {"sizes that differ elsewhere",
            "Concat",
            13,
            {x, f32({kN, 2, 5})},
            {{"axis", 1}},
            {},
            "they may differ along axis 1 only"},
           {"of symbols",
            "Shape",
            15,
            {x},
            {{"start", -3}, {"end", -1}},
            {"%0 = ShapeTensor() {values [N, 3], shape [2], dtype int64} : int64 2"}},
           {"one value",
            "ConstantOfShape",
            9,
            {ints({2, 3})},
            {},
            {"%0 = Constant() {value [0]} : float32 1", "%1 = Reshape(%0) {shape []} : float32 scalar",
             "%2 = Expand(%1) {shape [2, 3]} : float32 2 x 3"}},
       }) {
    check(row);
  }
}

TEST(Operators, Index) {
  const TensorType x = f32({kN, 3, 4});
  for (const Row& row : std::vector<Row>{
           {"along an axis",
            "Gather",
            13,
            {f32({7, 3}), i64({kN, 2})},
            {},
            {"%0 = Gather(%a, %b) {axis 0} : float32 N x 2 x 3"}},
           {"clamped ends",
            "Slice",
            10,
            {x, ints({1, 0}), ints({1000, -1}), ints({1, 2})},
            {},
            {"%0 = Slice(%a) {start [0, 1, 0], size [N, 2, 3], step [1, 1, 1]} : float32 N x 2 x 3"}},
           {"backwards",
            "Slice",
            13,
            {x, ints({-1}), ints({INT64_MIN}), ints({2}), ints({-2})},
            {},
            {"%0 = Slice(%a) {start [0, 0, 3], size [N, 3, 2], step [1, 1, -2]} : float32 N x 3 x 2"}},
           {"all of the batch",
            "Slice",
            13,
            {x, ints({0}), ints({INT64_MAX}), ints({0})},
            {},
            {"%0 = Slice(%a) {start [0, 0, 0], size [N, 3, 4], step [1, 1, 1]} : float32 N x 3 x 4"}},
           {"nothing",
            "Slice",
            13,
            {x, ints({2}), ints({2}), ints({1})},
            {},
            {"%0 = Slice(%a) {start [0, 0, 0], size [N, 0, 4], step [1, 1, 1]} : float32 N x 0 x 4"}},
           {"attributes",
            "Slice",
            1,
            {x},
            {{"starts", Ints{1}}, {"ends", Ints{3}}, {"axes", Ints{2}}},
            {"%0 = Slice(%a) {start [0, 0, 1], size [N, 3, 2], step [1, 1, 1]} : float32 N x 3 x 2"}},
           {"a step of 0", "Slice", 13, {x, ints({0}), ints({2}), ints({1}), ints({0})}, {}, {}, "a step of 0"},
           {"sizes",
            "Split",
            13,
            {x, ints({1, 2})},
            {{"axis", 1}},
            {"%0 = Slice(%a) {start [0, 0, 0], size [N, 1, 4], step [1, 1, 1]} : float32 N x 1 x 4",
             "%1 = Slice(%a) {start [0, 1, 0], size [N, 2, 4], step [1, 1, 1]} : float32 N x 2 x 4"},
            nullptr,
            2},
           {"the last part smaller",
            "Split",
            18,
            {x},
            {{"axis", 1}, {"num_outputs", 2}},
            {"%0 = Slice(%a) {start [0, 0, 0], size [N, 2, 4], step [1, 1, 1]} : float32 N x 2 x 4",
             "%1 = Slice(%a) {start [0, 2, 0], size [N, 1, 4], step [1, 1, 1]} : float32 N x 1 x 4"},
            nullptr,
            2},
           {"that does not divide",
            "Split",
            13,
            {x},
            {{"axis", 1}},
            {},
            "an axis of 3 cannot be split into 2 equal parts",
            2},
           {"with a value",
            "Pad",
            13,
            {x, ints({0, 0, 1, 0, 0, 2}), scalar(1)},
            {},
            {"%0 = Pad(%a) {begin [0, 0, 1], end [0, 0, 2], value 1} : float32 N x 3 x 7"}},
           {"negative pads cut",
            "Pad",
            13,
            {x, ints({0, 0, -1, 0, 1, 0})},
            {},
            {"%0 = Slice(%a) {start [0, 0, 1], size [N, 3, 3], step [1, 1, 1]} : float32 N x 3 x 3",
             "%1 = Pad(%0) {begin [0, 0, 0], end [0, 1, 0], value 0} : float32 N x 4 x 3"}},
           {"mirrored: 2 1 0 1 2 3 2",
            "Pad",
            18,
            {x, ints({2, 1}), kNone, ints({-1})},
            {{"mode", "reflect"}},
            {"%0 = Constant() {value [2, 1, 0, 1, 2, 3, 2]} : int64 7",
             "%1 = Gather(%a, %0) {axis 2} : float32 N x 3 x 7"}},
           {"an unknown mode",
            "Pad",
            13,
            {x, ints({0, 0, 0, 0, 0, 0})},
            {{"mode", "nice"}},
            {},
            "attribute 'mode' is 'nice'"},
       }) {
    check(row);
  }
}

TEST(Operators, Reduction) {
  const TensorType x = f32({kN, 3, 4});
  for (const Row& row : std::vector<Row>{
           {"axes as attribute",
            "ReduceMean",
            13,
            {x},
            {{"axes", Ints{-1}}, {"keepdims", 0}},
            {"%0 = Reduce(%a) {kind mean, axes [2], keep no} : float32 N x 3"}},
           {"axes as input",
            "ReduceMean",
            18,
            {x, ints({1, 2})},
            {},
            {"%0 = Reduce(%a) {kind mean, axes [1, 2], keep yes} : float32 N x 1 x 1"}},
           {"all axes",
            "ReduceSum",
            13,
            {x},
            {{"keepdims", 0}},
            {"%0 = Reduce(%a) {kind sum, axes [0, 1, 2], keep no} : float32 scalar"}},
           {"no axes at all", "ReduceSum", 13, {x}, {{"noop_with_empty_axes", 1}}, {}},
           {"axes as input too early",
            "ReduceMean",
            13,
            {x, ints({1})},
            {},
            {},
            "input 1 ('b') is one more than version 13"},
           {"an axis twice", "ReduceMax", 18, {x, ints({1, -2})}, {}, {}, "axes [1, 1] name one twice"},
           {"position",
            "ArgMax",
            13,
            {x},
            {{"axis", 1}, {"keepdims", 0}},
            {"%0 = ArgReduce(%a) {kind max, axis 1, keep no, last no} : int64 N x 4"}},
       }) {
    check(row);
  }
}

TEST(Operators, Resize) {
  const TensorType x = f32({kN, 3, 4, 4});
  for (const Row& row : std::vector<Row>{
           {"nearest is a gather",
            "Resize",
            13,
            {x, kNone, floats({1, 1, 2, 1})},
            {{"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}},
            {"%0 = Constant() {value [0, 0, 1, 1, 2, 2, 3, 3]} : int64 8",
             "%1 = Gather(%a, %0) {axis 2} : float32 N x 3 x 8 x 4"}},
           {"linear is a product",
            "Resize",
            13,
            {x, kNone, floats({1, 1, 1, 1.5})},
            {{"mode", "linear"}},
            {"%0 = Constant() {value [1, 0, 0, 0, 0.5, 0.5, 0, 0, ...]} : float32 6 x 4",
             "%1 = MatMul(%a, %0) {transpose_a no, transpose_b yes, bias no} : float32 N x 3 x 4 x 6"}},
           {"scales as attribute",
            "Upsample",
            7,
            {x},
            {{"scales", Floats{1, 1, 1, 2}}},
            {"%0 = Constant() {value [0, 0, 1, 1, 2, 2, 3, 3]} : int64 8",
             "%1 = Gather(%a, %0) {axis 3} : float32 N x 3 x 4 x 8"}},
           {"neither scales nor sizes", "Resize", 13, {x}, {}, {}, "neither scales nor sizes are given"},
       }) {
    check(row);
  }
}

TEST(Operators, HaveAscendingVersions) {
  for (const auto& [key, entry] : translator().entries()) {
    ASSERT_FALSE(entry.versions.empty()) << key.second;
    EXPECT_TRUE(std::is_sorted(entry.versions.begin(), entry.versions.end())) << key.second;
  }
}

}  // namespace
}  // namespace arbalest
