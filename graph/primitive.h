// The primitives: about fifty plain structs, one variant.
//
// A primitive P is a struct of attributes in graph/primitives/<stem>.h with
//   static constexpr const char* kName;
//       its name in prints
//   template <class Self, class V> static void fields(Self& p, V&& v);
//       calls v("name", p.field) for each attribute; Self is P or const P
//   std::vector<TensorType> infer(const P&, Types inputs);
//       output types; model error where the inputs do not fit
//   Values gradient(const P&, GradientContext&);
//       one Value an input, none where nothing flows; absent where P is not differentiable
// Printing, comparing, hashing and binding of symbols come from fields() (graph/primitive_fields.h).
#pragma once

#include <variant>

#include "graph/primitives/batch_norm.h"
#include "graph/primitives/constant.h"
#include "graph/primitives/conv.h"
#include "graph/primitives/cross_entropy.h"
#include "graph/primitives/cum_sum.h"
#include "graph/primitives/gather.h"
#include "graph/primitives/lrn.h"
#include "graph/primitives/map.h"
#include "graph/primitives/matmul.h"
#include "graph/primitives/movement.h"
#include "graph/primitives/pool.h"
#include "graph/primitives/random.h"
#include "graph/primitives/reduce.h"
#include "graph/primitives/scatter.h"
#include "graph/primitives/softmax.h"
#include "graph/primitives/top_k.h"

namespace arbalest {

using PrimitiveVariant =
    std::variant<Constant, ShapeTensor, Map, StopGradient, MatMul, Conv, ConvBackwardData, ConvBackwardWeights, MaxPool,
                 MaxPoolBackward, AveragePool, AveragePoolBackward, BatchNorm, BatchNormBackward, Softmax,
                 SoftmaxBackward, CrossEntropy, CrossEntropyBackward, Lrn, LrnBackward, Reshape, Transpose, Slice,
                 SliceBackward, Pad, Concat, Expand, Gather, LinearIndex, Scatter, Reduce, ArgReduce, CumSum, TopK,
                 RandomUniform>;

// The variant with its copies, moves and destruction compiled once, not in every file that holds one.
struct Primitive : PrimitiveVariant {
  using PrimitiveVariant::PrimitiveVariant;
  Primitive(const Primitive& other);
  Primitive(Primitive&& other) noexcept;
  Primitive& operator=(const Primitive& other);
  Primitive& operator=(Primitive&& other) noexcept;
  ~Primitive();
};

std::vector<TensorType> infer(const Primitive& primitive, Types inputs);
const char* name_of(const Primitive& primitive);

}  // namespace arbalest
