// Convolution on oneDNN: layouts and implementations of the three passes.
//
// Activations are channels last in all three passes: for them the library has fast code on every machine (AVX2,
// AVX-512, AMX) and for every shape that was tried, while blocked layouts drop into reference code for few or odd
// channels, and row-major ones are slower by a factor of two. Row-major is the second choice; where that has no fast
// code either, plain loops do it. The choice is by the implementations' names, for the three passes together, never by
// timing: the same model gives the same bits everywhere.
//
// The layout of the weights is left to each pass. A layout that Layout cannot express (padding inside each group) stays
// inside the kernel, which then takes or gives row-major weights and reorders them in its scratch memory.
#pragma once

#include <functional>
#include <optional>

#include "exec/cpu/onednn.h"
#include "graph/primitives/conv.h"

namespace arbalest::cpu {

struct ConvProblem {
  Window window;
  int64_t groups = 1;
  Dims x, w, y;
  bool bias = false;
  int threads = 1;
};

enum class ConvPass { forward, backward_data, backward_weights };

// An implementation of one pass with the layouts of its tensors. The weights may stand for their gradient.
struct ConvChoice {
  ConvPass pass = ConvPass::forward;
  onednn::PrimitiveDesc primitive;
  Layout x, y;
  Layout weights;                                // as the plan sees them
  std::optional<onednn::PrimitiveDesc> reorder;  // between those and what the primitive works with

  std::string implementation() const;
  size_t scratch_bytes() const;
};

// Empty where plain loops are better. `weights`: a layout that they have already; taken where it costs nothing.
std::optional<ConvChoice> choose_convolution(const ConvProblem& problem, ConvPass pass,
                                             const std::optional<Layout>& weights);

// For one call of a ConvChoice. bias may be null; for backward_weights w and bias are written.
struct ConvAddresses {
  void *x, *w, *bias, *y;
  void* scratch;
};
std::function<void()> bind_convolution(const ConvChoice& choice, const onednn::Primitive& primitive,
                                       const std::optional<onednn::Primitive>& reorder, const ConvAddresses& a);

// The layout of weights [M, C/groups, k...] that oneDNN describes with an axis of groups in front, and back. Empty
// where the other cannot express it.
std::optional<Layout> without_group_axis(const dnnl_memory_desc_t& weights, int64_t groups);
std::optional<dnnl_memory_desc_t> with_group_axis(const Layout& weights, int64_t groups);

}  // namespace arbalest::cpu
