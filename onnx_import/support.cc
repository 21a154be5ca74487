#include "onnx_import/support.h"

#include <set>

#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

using OperatorNames = std::set<std::string_view>;

const OperatorNames kAny = {
    "Cast",
    "CastLike",
    "CenterCropPad",
    "Compress",
    "Concat",
    "ConcatFromSequence",
    "Constant",
    "ConstantOfShape",
    "DepthToSpace",
    "Equal",
    "Expand",
    "EyeLike",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Identity",
    "If",
    "Loop",
    "NonZero",
    "OneHot",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "Pad",
    "Reshape",
    "ReverseSequence",
    "Scan",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SequenceMap",
    "Shape",
    "Size",
    "Slice",
    "SpaceToDepth",
    "Split",
    "SplitToSequence",
    "Squeeze",
    "TensorScatter",
    "Tile",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Where",
};

const OperatorNames kNumbers = {
    "Abs",
    "Add",
    "ArgMax",
    "ArgMin",
    "Clip",
    "CumProd",
    "CumSum",
    "Div",
    "Einsum",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Max",
    "MaxPool",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "PRelu",
    "Pow",
    "Range",
    "ReduceL1",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Relu",
    "Resize",
    "Sign",
    "Sub",
    "TopK",
    "Unique",
    "Upsample",
    "DequantizeLinear",
};

const OperatorNames kIntegers = {"BitCast", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"};
const OperatorNames kBooleans = {"And", "Not", "Or", "Xor"};

// A result that is an index, a truth value, a size or a step function of the input: nothing flows back.
const OperatorNames kWithoutGradient = {
    "And",
    "ArgMax",
    "ArgMin",
    "Bernoulli",
    "BitCast",
    "BitShift",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "BlackmanWindow",
    "Ceil",
    "Constant",
    "ConstantOfShape",
    "Equal",
    "EyeLike",
    "Floor",
    "Greater",
    "GreaterOrEqual",
    "HammingWindow",
    "HannWindow",
    "Hardmax",
    "IsInf",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "MelWeightMatrix",
    "Multinomial",
    "NonMaxSuppression",
    "NonZero",
    "Not",
    "OptionalHasElement",
    "Or",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Round",
    "SequenceEmpty",
    "SequenceLength",
    "Shape",
    "Sign",
    "Size",
    "Xor",
};

OperatorTypes types_of(const std::string& name) {
  if (kAny.count(name)) return OperatorTypes::any;
  if (kNumbers.count(name)) return OperatorTypes::numbers;
  if (kIntegers.count(name)) return OperatorTypes::integers;
  return kBooleans.count(name) ? OperatorTypes::booleans : OperatorTypes::floats;
}

}  // namespace

std::string_view name_of(OperatorTypes types) {
  static constexpr std::string_view kTexts[] = {"floats", "numbers", "any", "integers", "bool"};
  return kTexts[static_cast<size_t>(types)];
}

std::vector<OperatorSupport> supported_operators() {
  std::vector<OperatorSupport> all;
  for (const auto& [key, entry] : translator().entries())
    all.push_back({key.first, key.second, entry.versions, types_of(key.second), !kWithoutGradient.count(key.second)});
  return all;
}

}  // namespace arbalest
