// The type rules: sizes of outputs, and the texts of errors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/graph/small_graphs.h"

namespace arbalest {
namespace {

struct Case {
  const char* name;
  Primitive primitive;
  std::vector<TensorType> inputs;
  std::string expected;  // output types, or the text of the error
};

std::string outcome(const Case& c) {
  try {
    std::string text;
    for (const TensorType& t : infer(c.primitive, c.inputs)) text += (text.empty() ? "" : ", ") + to_string(t);
    return text;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::model) << e.what();
    return e.what();
  }
}

Scalar sum_of_two() { return Scalar::input(0, DataType::f32) + Scalar::input(1, DataType::f32); }

const Case kCases[] = {
    {"map broadcasts", Map{sum_of_two()}, {f32({N, 3}), f32({3})}, "float32 N x 3"},
    {"map does not fit", Map{sum_of_two()}, {f32({N, 3}), f32({4})}, "shapes N x 3 and 4 cannot be broadcast together"},

    {"matmul", MatMul{}, {f32({N, 7, 3}), f32({3, 4})}, "float32 N x 7 x 4"},
    {"matmul transposed", MatMul{true, true, true}, {f32({3, N}), f32({4, 3}), f32({4})}, "float32 N x 4"},
    {"matmul batches broadcast", MatMul{}, {f32({2, 1, 5, 3}), f32({6, 3, 4})}, "float32 2 x 6 x 5 x 4"},
    {"matmul inner sizes",
     MatMul{},
     {f32({N, 3}), f32({5, 4})},
     "the first operand (N x 3) has 3 columns, the second (5 x 4) 5 rows"},
    {"matmul of a vector", MatMul{}, {f32({3}), f32({3, 4})}, "the first operand has rank 1 (3), expected at least 2"},
    {"matmul types",
     MatMul{},
     {f32({2, 3}), f64({3, 4})},
     "the second operand is float64 3 x 4, expected elements of float32"},
    {"matmul of integers",
     MatMul{},
     {i64({2, 3}), i64({3, 4})},
     "the first operand is int64 2 x 3, expected a float tensor"},
    {"matmul bias",
     MatMul{false, false, true},
     {f32({2, 3}), f32({3, 4}), f32({5})},
     "the bias has shape 5, expected 4"},

    {"conv", Conv{window(2)}, {f32({N, 1, 28, 28}), f32({20, 1, 5, 5})}, "float32 N x 20 x 24 x 24"},
    {"conv strided",
     Conv{window(2, 2, 1), 2, true},
     {f32({N, 4, 9, 8}), f32({6, 2, 3, 3}), f32({6})},
     "float32 N x 6 x 5 x 4"},
    {"conv of free size", Conv{window(1, 2, 1)}, {f32({N, 4, H}), f32({6, 4, 3})}, "float32 N x 6 x floor((H + 1)/2)"},
    {"conv channels",
     Conv{window(2)},
     {f32({N, 3, 8, 8}), f32({6, 4, 3, 3})},
     "weight expects 4 input channels, the input has 3"},
    {"conv groups",
     Conv{window(1), 2},
     {f32({N, 4, 8}), f32({5, 2, 3})},
     "5 output channels cannot be divided into 2 groups"},
    {"conv kernel too large",
     Conv{window(2, 1, 1)},
     {f32({N, 1, 9, 4}), f32({1, 1, 3, 7})},
     "spatial axis 1: the window covers 7, the input with its padding has only 6"},
    {"conv window",
     Conv{window(1)},
     {f32({N, 3, 8, 8}), f32({6, 3, 3, 3})},
     "strides has 1 entries, expected 2, one for each spatial axis"},
    {"conv stride 0",
     Conv{window(1, 0)},
     {f32({N, 3, 8}), f32({6, 3, 3})},
     "strides contains 0, expected at least 1 and at most 2147483647"},
    {"conv ranks",
     Conv{window(2)},
     {f32({N, 3, 8, 8}), f32({6, 3, 3})},
     "the weight has rank 3 (6 x 3 x 3), the input 4 (N x 3 x 8 x 8)"},
    {"conv backward data",
     ConvBackwardData{window(2, 2, 1), 1, {10, 9}},
     {f32({N, 6, 5, 5}), f32({6, 2, 3, 3})},
     "float32 N x 2 x 10 x 9"},
    {"conv backward data size",
     ConvBackwardData{window(2, 2, 1), 1, {11, 9}},
     {f32({N, 6, 5, 5}), f32({6, 2, 3, 3})},
     "the input has shape N x 6 x 5 x 5, expected N x 6 x 6 x 5"},
    {"conv backward weights",
     ConvBackwardWeights{window(2, 1, 1), 2, {3, 3}, true},
     {f32({8, 4, 5, 5}), f32({8, 6, 5, 5})},
     "float32 6 x 2 x 3 x 3, float32 6"},

    {"max pool", MaxPool{window(2, 2), {2, 2}}, {f32({N, 3, 9, 8})}, "float32 N x 3 x 4 x 4, int32 N x 3 x 4 x 4"},
    {"max pool rounds up",
     MaxPool{window(2, 2), {2, 2}, true},
     {f32({N, 3, 9, 8})},
     "float32 N x 3 x 5 x 4, int32 N x 3 x 5 x 4"},
    {"a window that would start in the end padding is dropped",
     AveragePool{window(1, 3, 1), {3}, true},
     {f32({N, 3, 8})},
     "float32 N x 3 x 3"},
    {"ceil of a free size", AveragePool{window(1, 2), {3}, true}, {f32({N, 3, H})}, "float32 N x 3 x floor(H/2)"},
    {"global pool of a free size", AveragePool{window(1), {H}}, {f32({N, 3, H})}, "float32 N x 3 x 1"},
    {"max pool padding",
     MaxPool{window(2, 2, 2), {2, 2}},
     {f32({N, 3, 9, 8})},
     "spatial axis 0: pads 2 of a kernel of 2, expected less than its extent"},
    {"max pool steps over the input",
     MaxPool{window(1, 1, 1, 2), {2}},
     {f32({N, 3, 1})},
     "spatial axis 0: the window of output 0 lies in the padding only"},

    {"batch norm", BatchNorm{}, {f32({N, 3, 4}), f32({3}), f32({3})}, "float32 N x 3 x 4, float32 3, float32 3"},
    {"batch norm scale", BatchNorm{}, {f32({N, 3, 4}), f32({4}), f32({3})}, "the scale has shape 4, expected 3"},

    {"softmax", Softmax{1}, {f32({N, 10})}, "float32 N x 10"},
    {"softmax axis", Softmax{2}, {f32({2, 5})}, "axis 2 of a rank-2 input"},

    {"cross-entropy", CrossEntropy{}, {f32({N, 10, 4}), i64({N, 4})}, "float32 scalar, float32 N x 10 x 4"},
    {"cross-entropy of each",
     CrossEntropy{2, LossReduction::none, {}, true},
     {f32({N, 4, 10}), i64({N, 4}), f32({10})},
     "float32 N x 4, float32 N x 4 x 10"},
    {"cross-entropy labels",
     CrossEntropy{},
     {f32({N, 10}), f32({N, 10})},
     "the label is float32 N x 10, expected int32 or int64"},
    {"cross-entropy label shape", CrossEntropy{}, {f32({N, 10}), i64({N, 1})}, "the label has shape N x 1, expected N"},

    {"lrn size", Lrn{0}, {f32({N, 3, 4})}, "size 0, expected at least 1"},

    {"reshape", Reshape{{N, 12}}, {f32({N, 3, 4})}, "float32 N x 12"},
    {"reshape that a binding may make right", Reshape{{1, 12}}, {f32({N, 3, 4})}, "float32 1 x 12"},
    {"reshape count", Reshape{{5, 2}}, {f32({3, 4})}, "cannot reshape 3 x 4 (12 elements) to 5 x 2 (10 elements)"},
    {"transpose", Transpose{{2, 0, 1}}, {f32({N, 3, 4})}, "float32 4 x N x 3"},
    {"transpose twice the same", Transpose{{0, 0, 1}}, {f32({N, 3, 4})}, "permutation [0, 0, 1] of a rank-3 input"},
    {"slice", Slice{{0, 2}, {N, 2}, {1, -2}}, {f32({N, 3})}, "float32 N x 2"},
    {"slice outside", Slice{{0, 2}, {N, 2}, {1, 1}}, {f32({N, 3})}, "axis 1: element 3 of an axis of 3"},
    {"slice before", Slice{{0, 0}, {N, 2}, {1, -1}}, {f32({N, 3})}, "axis 1: element -1 of an axis of 3"},
    {"slice of nothing", Slice{{0, 7}, {N, 0}, {1, 1}}, {f32({N, 3})}, "float32 N x 0"},
    {"slice backward", SliceBackward{{0, 1}, {N, 3}, {1, 1}}, {f32({N, 2})}, "float32 N x 3"},
    {"pad", Pad{{0, 1}, {0, 2}}, {f32({N, 3})}, "float32 N x 6"},
    {"pad less", Pad{{0, -1}, {0, 2}}, {f32({N, 3})}, "axis 1: a pad of -1"},
    {"concat", Concat{1}, {f32({N, 3}), f32({N, H})}, "float32 N x (H + 3)"},
    {"concat sizes",
     Concat{1},
     {f32({2, 3}), f32({4, 3})},
     "input 1 has shape 4 x 3, the first 2 x 3; they may differ along axis 1 only"},
    {"concat types", Concat{0}, {f32({2}), i64({2})}, "input 1 is int64 2, the first is float32 2"},
    {"expand", Expand{{N, 3, 4}}, {f32({3, 1})}, "float32 N x 3 x 4"},
    {"expand to less", Expand{{1, 4}}, {f32({3, 4})}, "3 x 4 cannot be expanded to 1 x 4"},

    {"gather", Gather{1}, {f32({N, 7, 4}), i64({2, 3})}, "float32 N x 2 x 3 x 4"},
    {"gather of a scalar", Gather{0}, {i64({4}), i64({})}, "int64 scalar"},
    {"gather indices", Gather{0}, {f32({4}), f32({2})}, "the index tensor is float32 2, expected int32 or int64"},
    {"linear index", LinearIndex{{3, 4}}, {i64({N, 5, 2})}, "int64 N x 5"},
    {"linear index coordinates", LinearIndex{{3, 4}}, {i64({N, 3})}, "3 coordinates of an element of 3 x 4"},
    {"linear index of a scalar",
     LinearIndex{{3}},
     {i64({})},
     "the index tensor is a scalar, expected coordinates in its last axis"},
    {"scatter", Scatter{1}, {f32({N, 7, 4}), i64({2, 3}), f32({N, 2, 3, 4})}, "float32 N x 7 x 4"},
    {"scatter one row", Scatter{0}, {i64({4, 2}), i64({}), i64({2})}, "int64 4 x 2"},
    {"scatter onto zeros",
     Scatter{1, ScatterReduction::add, true, 7},
     {i64({2, 3}), f32({N, 2, 3, 4})},
     "float32 N x 7 x 4"},
    {"scatter indices",
     Scatter{0},
     {f32({4}), f32({2}), f32({2})},
     "the index tensor is float32 2, expected int32 or int64"},
    {"scatter types",
     Scatter{0},
     {f32({4}), i64({2}), f64({2})},
     "the update is float64 2, expected elements of float32"},
    {"scatter rows",
     Scatter{0},
     {f32({4, 3}), i64({2}), f32({2, 5})},
     "the data to update has shape 4 x 3, expected 4 x 5"},
    {"scatter updates",
     Scatter{0},
     {f32({4, 3}), i64({2}), f32({3, 3})},
     "the update, along the indices, has shape 3, expected 2"},

    {"reduce", Reduce{Reduction::mean, {1, 2}}, {f32({N, 3, 4})}, "float32 N"},
    {"reduce keeps", Reduce{Reduction::max, {0, 2}, true}, {f32({N, 3, 4})}, "float32 1 x 3 x 1"},
    {"reduce axes", Reduce{Reduction::sum, {1, 3}}, {f32({N, 3, 4})}, "axes [1, 3] of a rank-3 input"},
    {"arg reduce", ArgReduce{Reduction::max, 1}, {f32({N, 3})}, "int64 N"},
    {"arg reduce of nothing",
     ArgReduce{Reduction::max, 1},
     {f32({N, 0})},
     "axis 1 of N x 0 is empty: it has no maximum or minimum"},
    {"cumulative sum", CumSum{1}, {f32({N, 3})}, "float32 N x 3"},
    {"cumulative sum axis", CumSum{2}, {f32({N, 3})}, "axis 2 of a rank-2 input"},
    {"top k", TopK{1, 2}, {f32({N, 3, 4})}, "float32 N x 2 x 4, int64 N x 2 x 4"},
    {"top k of too few", TopK{1, 4}, {f32({N, 3})}, "k is 4, axis 1 has only 3 elements"},
    {"top k less than none", TopK{1, -1}, {f32({N, 3})}, "k is -1, expected at least 0"},
};

TEST(Infer, Table) {
  for (const Case& c : kCases) EXPECT_EQ(outcome(c), c.expected) << c.name;
}

// For every constant size, the symbolic formula of ceil_mode gives what the definition does.
TEST(Infer, CeilModeAgreesWithTheDefinition) {
  for (int64_t stride = 1; stride <= 4; ++stride) {
    for (int64_t kernel = 1; kernel <= 4; ++kernel) {
      for (int64_t pad = 0; pad < kernel; ++pad) {
        for (int64_t size = kernel; size <= 12; ++size) {
          const Window w = window(1, stride, pad);
          const int64_t room = size + 2 * pad - kernel;
          int64_t expected = (room + stride - 1) / stride + 1;
          if ((expected - 1) * stride >= size + pad) --expected;
          EXPECT_EQ(window_output(w, 0, size, kernel, true), Dim(expected));
          EXPECT_EQ(window_output(w, 0, H, kernel, true).bind({{"H", size}}), Dim(expected));
        }
      }
    }
  }
}

TEST(Infer, ATensorLargerThanAnyMemoryIsAnError) {
  Graph graph;
  Builder b(graph);
  const Value x = data(b, "x", f32({1}));
  EXPECT_THROW(expand(x, {int64_t{1} << 40, int64_t{1} << 40}), Error);
}

}  // namespace
}  // namespace arbalest
