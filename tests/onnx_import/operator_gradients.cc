// Gradients of operators against central differences in double precision: those without a test of their own family.
// operator_coverage.cc fails when an operator has no row anywhere.
#include <gtest/gtest.h>

#include "tests/onnx_import/operator_check.h"

namespace arbalest {
namespace {

void check_all(const std::vector<OperatorCase>& cases) {
  for (const OperatorCase& c : cases) check_gradient(c);
}

HostTensor ints_of(const std::vector<int64_t>& values) {
  return i64_tensor({static_cast<int64_t>(values.size())}, values);
}

HostTensor scales_of(const std::vector<float>& values) {
  return HostTensor::f32({static_cast<int64_t>(values.size())}, values);
}

const Dims kMatrix{2, 3};
const Dims kImage{2, 2, 4, 5};

TEST(OperatorGradient, ElementwiseOfOne) {
  struct Unary {
    const char* op;
    int64_t opset;
    double low, high;
    Attributes attributes = {};
  };
  for (const Unary& u : std::vector<Unary>{
           {"Abs", 13, -2, 2},
           {"Acos", 22, -0.9, 0.9},
           {"Acosh", 22, 1.2, 3},
           {"Asin", 7, -0.9, 0.9},
           {"Asinh", 9, -2, 2},
           {"Atan", 7, -2, 2},
           {"Atanh", 9, -0.9, 0.9},
           {"Celu", 12, -2, 2, {{"alpha", 1.5}}},
           {"Clip", 6, -2, 2, {{"min", -1.0}, {"max", 0.5}}},
           {"Cos", 7, -2, 2},
           {"Cosh", 9, -2, 2},
           {"Dropout", 13, -1, 1},
           {"Elu", 6, -2, 2, {{"alpha", 0.5}}},
           {"Erf", 13, -2, 2},
           {"Exp", 13, -2, 2},
           {"Gelu", 20, -2, 2},
           {"Gelu", 20, -2, 2, {{"approximate", "tanh"}}},
           {"HardSigmoid", 6, -4, 4},
           {"HardSwish", 14, -4, 4},
           {"Identity", 16, -1, 1},
           {"LeakyRelu", 16, -2, 2, {{"alpha", 0.2}}},
           {"Log", 13, 0.3, 3},
           {"Mish", 18, -3, 3},
           {"Neg", 13, -1, 1},
           {"Reciprocal", 13, 0.5, 2},
           {"Relu", 14, -2, 2},
           {"Selu", 6, -2, 2},
           {"Shrink", 9, -2, 2, {{"lambd", 0.5}, {"bias", 0.3}}},
           {"Sigmoid", 13, -3, 3},
           {"Sin", 7, -2, 2},
           {"Sinh", 9, -2, 2},
           {"Softplus", 1, -3, 3},
           {"Softsign", 1, -3, 3},
           {"Sqrt", 13, 0.2, 2},
           {"Swish", 24, -3, 3, {{"alpha", 1.5}}},
           {"Tan", 7, -1, 1},
           {"Tanh", 13, -2, 2},
           {"ThresholdedRelu", 10, -3, 3, {{"alpha", 0.7}}},
       }) {
    check_gradient({u.op, u.op, u.opset, {Within{kMatrix, u.low, u.high}}, u.attributes});
  }
}

TEST(OperatorGradient, ElementwiseOfSeveral) {
  const Dims row{3}, column{2, 1};
  const HostTensor mask = bool_tensor({2, 3}, {1, 0, 1, 0, 0, 1});
  check_all({
      {"broadcast", "Add", 14, {column, row}, {}},
      {"broadcast", "Sub", 14, {kMatrix, row}, {}},
      {"broadcast", "Mul", 14, {column, kMatrix}, {}},
      {"old broadcast", "Mul", 6, {Dims{2, 3, 2}, row}, {{"broadcast", 1}, {"axis", 1}}},
      {"broadcast", "Div", 14, {kMatrix, Within{row, 0.5, 2}}, {}},
      {"base and exponent", "Pow", 15, {Within{kMatrix, 0.5, 2}, row}, {}},
      {"of three", "Max", 13, {kMatrix, row, column}, {}},
      {"of three", "Min", 13, {kMatrix, row, column}, {}},
      {"of three", "Mean", 13, {kMatrix, row, column}, {}},
      {"of three", "Sum", 13, {kMatrix, row, column}, {}},
      {"of floats", "Mod", 13, {Within{kMatrix, 3.1, 5.9}, Within{row, 1.4, 1.6}}, {{"fmod", 1}}},
      {"slopes", "PRelu", 16, {kMatrix, row}, {}},
      {"bounds", "Clip", 13, {Within{kMatrix, -2, 2}, f64_tensor({}, {-0.5}), f64_tensor({}, {0.75})}, {}},
      {"chosen", "Where", 16, {mask, kMatrix, row}, {}},
      {"to itself", "Cast", 13, {Within{kMatrix, -1, 1}}, {{"to", 11}}},
      {"to itself", "CastLike", 15, {Within{kMatrix, -1, 1}, f64_tensor({1}, {0})}, {}},
  });
}

TEST(OperatorGradient, Products) {
  check_all({
      {"batches", "MatMul", 13, {Dims{2, 1, 2, 3}, Dims{2, 3, 2}}, {}},
      {"vectors", "MatMul", 13, {Dims{3}, Dims{3}}, {}},
      {"transposed",
       "Gemm",
       13,
       {Dims{3, 2}, Dims{4, 3}, Dims{4}},
       {{"transA", 1}, {"transB", 1}, {"alpha", 0.5}, {"beta", 2.0}}},
      {"groups",
       "Conv",
       22,
       {kImage, Dims{4, 1, 3, 2}, Dims{4}},
       {{"group", 2}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 1}}}},
      {"one axis, dilated",
       "Conv",
       11,
       {Dims{2, 3, 7}, Dims{2, 3, 3}},
       {{"dilations", Ints{2}}, {"auto_pad", "SAME_UPPER"}}},
      {"three axes", "Conv", 11, {Dims{1, 2, 3, 3, 3}, Dims{2, 2, 2, 2, 2}, Dims{2}}, {}},
      {"groups",
       "ConvTranspose",
       22,
       {Dims{1, 4, 2, 3}, Dims{4, 2, 3, 3}, Dims{4}},
       {{"group", 2}, {"strides", Ints{2, 2}}, {"output_padding", Ints{1, 0}}}},
      {"carried state", "CausalConvWithState", 27, {Dims{2, 3, 4}, Dims{3, 1, 3}, Dims{3}, Dims{2, 3, 2}}, {}, 2},
      {"linear",
       "LinearAttention",
       27,
       {Dims{1, 3, 4}, Dims{1, 3, 4}, Dims{1, 3, 4}},
       {{"q_num_heads", 2}, {"kv_num_heads", 2}, {"update_rule", "linear"}},
       2},
  });
}

TEST(OperatorGradient, FlexAttention) {
  const std::vector<CheckedOperand> operands{Dims{1, 2, 3, 2}, Dims{1, 2, 3, 2}, Dims{1, 2, 3, 2}};
  const auto modifier = [](const char* op) {
    GraphBuilder body("modifier");
    return body.input("t").node(op, {"t"}, {"changed"}).output("changed");
  };
  check_all({
      {"plain", "FlexAttention", 1, operands, {}, 1, "ai.onnx.preview"},
      {"modified",
       "FlexAttention",
       1,
       operands,
       {{"score_mod", modifier("Tanh")}, {"prob_mod", modifier("Sqrt")}},
       1,
       "ai.onnx.preview"},
  });
}

TEST(OperatorGradient, Pools) {
  const Attributes window{{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 1}}};
  Attributes counted = window, dilated = window, ceiled = window;
  counted.push_back({"count_include_pad", 1});
  dilated.push_back({"dilations", Ints{1, 2}});
  ceiled.push_back({"ceil_mode", 1});
  check_all({
      {"without padding", "AveragePool", 22, {kImage}, window},
      {"with padding", "AveragePool", 11, {kImage}, counted},
      {"dilated", "AveragePool", 19, {kImage}, dilated},
      {"plain", "MaxPool", 12, {kImage}, window},
      {"dilated", "MaxPool", 12, {kImage}, dilated},
      {"ceiled", "MaxPool", 12, {kImage}, ceiled},
      {"of squares", "LpPool", 18, {kImage}, window},
      {"of cubes", "LpPool", 11, {Within{kImage, 0.2, 1}}, {{"kernel_shape", Ints{2, 2}}, {"p", 3}}},
      {"all", "GlobalAveragePool", 1, {kImage}, {}},
      {"all", "GlobalMaxPool", 1, {kImage}, {}},
      {"all", "GlobalLpPool", 2, {kImage}, {{"p", 2}}},
  });
}

TEST(OperatorGradient, Norms) {
  const HostTensor mean = f64_tensor({2}, {0.1, -0.2}), variance = f64_tensor({2}, {0.9, 1.1});
  check_all({
      {"statistics of the batch", "BatchNormalization", 15, {kImage, Dims{2}, Dims{2}, mean, variance}, {}},
      {"of a matrix", "BatchNormalization", 9, {Dims{5, 2}, Dims{2}, Dims{2}, mean, variance}, {}},
      {"instances", "InstanceNormalization", 6, {kImage, Dims{2}, Dims{2}}, {}},
      {"groups", "GroupNormalization", 21, {Dims{2, 4, 3}, Dims{4}, Dims{4}}, {{"num_groups", 2}}},
      {"scale of a group", "GroupNormalization", 18, {Dims{2, 4, 3}, Dims{2}, Dims{2}}, {{"num_groups", 2}}},
      {"last axes", "LayerNormalization", 17, {Dims{2, 3, 4}, Dims{3, 4}, Dims{3, 4}}, {{"axis", 1}}, 3},
      {"root mean square", "RMSNormalization", 23, {Dims{2, 3, 4}, Dims{4}}, {}},
      {"of optimisers", "SimplifiedLayerNormalization", 17, {Dims{2, 3, 4}, Dims{3, 4}}, {{"axis", 1}}},
      {"channels", "LRN", 13, {Dims{2, 5, 2, 2}}, {{"size", 3}, {"alpha", 0.3}}},
      {"length 1", "LpNormalization", 22, {kMatrix}, {{"axis", 1}, {"p", 2}}},
      {"sum 1", "LpNormalization", 1, {kMatrix}, {{"axis", 0}, {"p", 1}}},
      {"images", "MeanVarianceNormalization", 13, {kImage}, {}},
      {"last axis", "Softmax", 13, {Dims{2, 3, 4}}, {}},
      {"flattened", "Softmax", 11, {Dims{2, 3, 2}}, {{"axis", 1}}},
      {"middle axis", "LogSoftmax", 13, {Dims{2, 3, 4}}, {{"axis", 1}}},
      {"flattened", "LogSoftmax", 11, {Dims{2, 3, 2}}, {{"axis", 1}}},
  });
}

TEST(OperatorGradient, Losses) {
  const HostTensor classes = ints_of({2, 0, 1, 2}), weights = f64_tensor({3}, {0.5, 1, 2});
  const HostTensor map = i64_tensor({2, 2}, {1, 0, 2, 2});
  check_all({
      {"mean", "SoftmaxCrossEntropyLoss", 13, {Dims{4, 3}, classes}, {}},
      {"weights", "SoftmaxCrossEntropyLoss", 13, {Dims{4, 3}, classes, weights}, {{"ignore_index", 0}}, 2},
      {"positions", "SoftmaxCrossEntropyLoss", 12, {Dims{2, 3, 2}, map}, {{"reduction", "none"}}},
      {"mean", "NegativeLogLikelihoodLoss", 13, {Dims{4, 3}, classes, weights}, {}},
      {"sum", "NegativeLogLikelihoodLoss", 22, {Dims{2, 3, 2}, map}, {{"reduction", "sum"}}},
  });
}

TEST(OperatorGradient, Reductions) {
  const Dims cube{2, 3, 2};
  const Within positive{cube, 0.5, 2};
  for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
                         "ReduceProd", "ReduceSum", "ReduceSumSquare"}) {
    check_gradient({op, op, 18, {cube, ints_of({0, 2})}, {{"keepdims", 0}}});
    check_gradient({op, op, 11, {cube}, {{"axes", Ints{1}}}});
  }
  check_all({
      {"axes", "ReduceLogSum", 18, {positive, ints_of({1})}, {}},
      {"all", "ReduceLogSum", 11, {positive}, {{"keepdims", 0}}},
      {"along an axis", "CumProd", 26, {Within{cube, 0.5, 2}, i64_tensor({}, {1})}, {{"exclusive", 1}}},
      {"reversed", "CumProd", 26, {Within{cube, 0.5, 2}, i64_tensor({}, {0})}, {{"reverse", 1}}},
  });
}

TEST(OperatorGradient, Shapes) {
  const Dims cube{2, 3, 4};
  std::vector<OperatorCase> cases = {
      {"views", "Reshape", 14, {cube, ints_of({0, -1})}, {}},
      {"from an axis", "Flatten", 13, {cube}, {{"axis", 2}}},
      {"axes as input", "Squeeze", 13, {Dims{2, 1, 3}, ints_of({1})}, {}},
      {"axes as input", "Unsqueeze", 13, {kMatrix, ints_of({0, 3})}, {}},
      {"cycle", "Transpose", 13, {cube}, {{"perm", Ints{2, 0, 1}}}},
      {"two", "Concat", 13, {kMatrix, Dims{2, 2}}, {{"axis", 1}}},
      {"both ways", "Expand", 13, {Dims{3, 1}, ints_of({2, 1, 4})}, {}},
      {"repeats", "Tile", 13, {kMatrix, ints_of({2, 3})}, {}},
      {"uneven", "Split", 18, {Dims{5, 2}}, {{"num_outputs", 2}}, 2},
      {"steps", "Slice", 13, {cube, ints_of({3, 0}), ints_of({-100, 3}), ints_of({2, 1}), ints_of({-2, 2})}, {}},
      {"constant", "Pad", 13, {kMatrix, ints_of({1, 0, 0, 2}), f64_tensor({}, {3})}, {}},
      {"cutting", "Pad", 13, {kMatrix, ints_of({0, -1, 1, 0})}, {}},
      {"reflect", "Pad", 18, {Dims{3, 4}, ints_of({1, 2, 2, 1})}, {{"mode", "reflect"}}},
      {"edge", "Pad", 18, {Dims{3, 4}, ints_of({1, 2, 2, 1})}, {{"mode", "edge"}}},
      {"wrap", "Pad", 19, {Dims{3, 4}, ints_of({1, 2, 2, 1})}, {{"mode", "wrap"}}},
      {"upper", "Trilu", 14, {Dims{2, 3, 4}, i64_tensor({}, {1})}, {}},
      {"lower", "Trilu", 14, {Dims{3, 3}}, {{"upper", 0}}},
      {"depth first", "DepthToSpace", 13, {Dims{1, 8, 1, 2}}, {{"blocksize", 2}}},
      {"columns first", "DepthToSpace", 13, {Dims{1, 4, 2, 1}}, {{"blocksize", 2}, {"mode", "CRD"}}},
      {"blocks", "SpaceToDepth", 13, {Dims{1, 2, 4, 2}}, {{"blocksize", 2}}},
  };
  // A weight that is only moved has no reader that would train it: what is moved is computed.
  for (OperatorCase& c : cases) {
    for (CheckedOperand& operand : c.operands)
      if (const auto* dims = std::get_if<Dims>(&operand)) operand = Within{Dims(*dims), -1, 1};
  }
  check_all(cases);
}

TEST(OperatorGradient, Indices) {
  const HostTensor indices = i64_tensor({2, 2}, {0, -1, 2, 0});
  check_all({
      {"rows", "Gather", 13, {Dims{3, 2}, indices}, {}},
      {"columns", "Gather", 11, {Dims{2, 3}, indices}, {{"axis", -1}}},
      {"values", "OneHot", 11, {indices, i64_tensor({}, {4}), Within{Dims{2}, -1, 1}}, {{"axis", 1}}},
      {"cache", "TensorScatter", 24, {Dims{2, 4, 3}, Dims{2, 2, 3}, ints_of({1, 0})}, {{"axis", 1}}},
  });
}

// Squares, since all elements of outputs whose size the data tell have the same weight.
TEST(OperatorGradient, OfWhatTheDataChoose) {
  for (const bool flat : {true, false}) {
    const Attributes axis = flat ? Attributes{} : Attributes{{"axis", 1}};
    ModelBuilder m(17);
    m.graph.initializer("x", f64_tensor({2, 3}, {0.9, -0.7, 0.2, 1.4, 0.4, -0.1}))
        .initializer("zero", f64_tensor({}, {0}))
        .node("Sin", {"x"}, {"s"})
        .node("Greater", {"s", "zero"}, {"above"})
        .node("Slice", {"above", "first", "second"}, {"row"})
        .node("Reshape", {"row", "any"}, {"condition"})
        .initializer("first", ints_of({0}))
        .initializer("second", ints_of({1}))
        .initializer("any", ints_of({-1}))
        .node("Unique", {"s"}, {"u"}, axis)
        .node("Compress", {"s", "condition"}, {"c"}, axis)
        .node("Mul", {"u", "u"}, {"y"})
        .node("Mul", {"c", "c"}, {"z"})
        .output("y")
        .output("z");
    check_gradient(flat ? "flat" : "along an axis", m, {"x"});
  }
  const Dims scalar;
  check_gradient(
      {"computed", "Range", 11, {Within{scalar, 0.2, 0.4}, Within{scalar, 4.3, 4.4}, Within{scalar, 0.9, 1.1}}, {}});
}

TEST(OperatorGradient, Resizes) {
  const HostTensor roi = HostTensor::f32({0}, std::vector<float>{});
  const HostTensor scales = scales_of({1, 1, 1.5, 2});
  check_all({
      {"nearest", "Resize", 13, {kImage, roi, scales}, {}},
      {"linear", "Resize", 13, {kImage, roi, scales}, {{"mode", "linear"}}},
      {"cubic",
       "Resize",
       13,
       {kImage, roi, scales},
       {{"mode", "cubic"}, {"coordinate_transformation_mode", "align_corners"}}},
      {"smaller, antialias",
       "Resize",
       18,
       {kImage, LeftOut{}, LeftOut{}, ints_of({2, 2, 3, 2})},
       {{"mode", "linear"}, {"antialias", 1}}},
      {"old", "Resize", 10, {kImage, scales}, {{"mode", "linear"}}},
      {"old", "Upsample", 9, {kImage, scales_of({1, 1, 2, 2})}, {{"mode", "linear"}}},
      {"old, nearest", "Upsample", 9, {kImage, scales_of({1, 1, 2, 2})}, {}},
  });
}

// ---- branches, sequences and optionals

// A condition that the data give: both branches are computed.
TEST(OperatorGradient, Branches) {
  const auto branch = [](const char* op) {
    GraphBuilder g("branch");
    return g.node(op, {"p"}, {std::string("of_") + op}).output(std::string("of_") + op);
  };
  for (const double bound : {-9.0, 9.0}) {
    ModelBuilder m(17);
    m.graph.initializer("x", f64_tensor({2}, {0.9, -0.7}))
        .initializer("w", f64_tensor({2}, {1.1, 1.3}))
        .initializer("bound", f64_tensor({}, {bound}))
        .node("Mul", {"x", "w"}, {"p"})
        .node("ReduceSum", {"p"}, {"sum"}, {{"keepdims", 0}})
        .node("Greater", {"sum", "bound"}, {"condition"})
        .node("If", {"condition"}, {"y"}, {{"then_branch", branch("Sin")}, {"else_branch", branch("Exp")}})
        .output("y");
    check_gradient("if", m, {"x", "w"});
  }
}

TEST(OperatorGradient, Sequences) {
  ModelBuilder m(17);
  for (const char* name : {"a", "b", "c"}) m.graph.initializer(name, f64_tensor({2}, {0.3, name[0] - 97.5}));
  const auto position = [&](const char* name, int64_t i) { m.graph.initializer(name, i64_tensor({}, {i})); };
  position("zero", 0);
  position("one", 1);
  GraphBuilder body("body");
  body.input("element").node("Sin", {"element"}, {"sine"}).output("sine");
  m.graph.node("SequenceConstruct", {"a", "b"}, {"s"})
      .node("SequenceInsert", {"s", "c", "one"}, {"longer"})
      .node("SequenceErase", {"longer", "zero"}, {"shorter"})
      .node("SequenceMap", {"shorter"}, {"sines"}, {{"body", body}})
      .node("ConcatFromSequence", {"sines"}, {"joined"}, {{"axis", 0}})
      .node("SplitToSequence", {"joined"}, {"parts"}, {{"axis", 0}})
      .node("SequenceAt", {"parts", "one"}, {"part"})
      .node("Mul", {"joined", "joined"}, {"squares"})
      .output("squares")
      .output("part");
  check_gradient("sequences", m, {"b", "c"});
}

TEST(OperatorGradient, Optionals) {
  ModelBuilder m(18);
  m.graph.initializer("a", f64_tensor({2}, {0.3, -0.5}))
      .node("Optional", {"a"}, {"o"})
      .node("OptionalGetElement", {"o"}, {"e"})
      .node("Mul", {"e", "e"}, {"y"})
      .output("y");
  check_gradient("optional", m, {"a"});
}

}  // namespace
}  // namespace arbalest
