// The CPU kernels: one prepare() a primitive, in the file of the same stem as in graph/primitives.
//
// f32 and f64 where a primitive computes, every type where it moves. A kernel asks for row-major inputs unless it
// handles the layout it finds.
#pragma once

#include "exec/prepare.h"

namespace arbalest::cpu {

Prepared prepare(const Map& p, PrepareContext& c);
Prepared prepare(const StopGradient& p, PrepareContext& c);
Prepared prepare(const MatMul& p, PrepareContext& c);
Prepared prepare(const Conv& p, PrepareContext& c);
Prepared prepare(const ConvBackwardData& p, PrepareContext& c);
Prepared prepare(const ConvBackwardWeights& p, PrepareContext& c);
Prepared prepare(const MaxPool& p, PrepareContext& c);
Prepared prepare(const MaxPoolBackward& p, PrepareContext& c);
Prepared prepare(const AveragePool& p, PrepareContext& c);
Prepared prepare(const AveragePoolBackward& p, PrepareContext& c);
Prepared prepare(const BatchNorm& p, PrepareContext& c);
Prepared prepare(const BatchNormBackward& p, PrepareContext& c);
Prepared prepare(const Softmax& p, PrepareContext& c);
Prepared prepare(const SoftmaxBackward& p, PrepareContext& c);
Prepared prepare(const CrossEntropy& p, PrepareContext& c);
Prepared prepare(const CrossEntropyBackward& p, PrepareContext& c);
Prepared prepare(const Lrn& p, PrepareContext& c);
Prepared prepare(const LrnBackward& p, PrepareContext& c);
Prepared prepare(const Reshape& p, PrepareContext& c);
Prepared prepare(const Transpose& p, PrepareContext& c);
Prepared prepare(const Slice& p, PrepareContext& c);
Prepared prepare(const SliceBackward& p, PrepareContext& c);
Prepared prepare(const Pad& p, PrepareContext& c);
Prepared prepare(const Concat& p, PrepareContext& c);
Prepared prepare(const Expand& p, PrepareContext& c);
Prepared prepare(const Gather& p, PrepareContext& c);
Prepared prepare(const LinearIndex& p, PrepareContext& c);
Prepared prepare(const Scatter& p, PrepareContext& c);
Prepared prepare(const Reduce& p, PrepareContext& c);
Prepared prepare(const ArgReduce& p, PrepareContext& c);
Prepared prepare(const CumSum& p, PrepareContext& c);
Prepared prepare(const TopK& p, PrepareContext& c);
Prepared prepare(const RandomUniform& p, PrepareContext& c);
// Constant and ShapeTensor are data of the plan, not steps.

// Any layout to any layout of the same dims; padding is written as zero.
Prepared prepare_reorder(const Layout& from, const Layout& to, DataType type, int threads);

// For an output that is its input's memory: nothing to do.
inline Prepared view() {
  return {[](const KernelArgs&) -> BoundKernel { return [] {}; }, 0, "view", 0};
}

}  // namespace arbalest::cpu
