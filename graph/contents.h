// Symbolic evaluation of small integer tensors: shape arithmetic (Shape, Gather, Concat, Mul ... into Reshape).
//
// Contents are the elements of a tensor, row-major, each an integral expression of the symbols. They are known for
// integer and bool tensors of static shape with at most kMaxContents elements, and for float tensors whose values are
// integral (a size that passes through float arithmetic on its way). Symbols are sizes: at least 1, those that segments
// compute at least 0.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/primitive.h"

namespace arbalest {

using Contents = std::vector<Dim>;

constexpr int64_t kMaxContents = 1024;

struct KnownTensor {
  const TensorType* type;
  const Contents* contents;  // null: unknown
};

// The elements of the output of type `output`, or none when they are not known. Primitives with several outputs have
// none.
std::optional<Contents> evaluate_contents(const Primitive& primitive, std::span<const KnownTensor> inputs,
                                          const TensorType& output);

}  // namespace arbalest
