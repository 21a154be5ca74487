#include "exec/cpu/kernels/conv_onednn.h"
#include "graph/base/error.h"

namespace arbalest::cpu {
namespace {

int64_t block_of(const Layout& layout, int axis) { return layout.block_of(axis); }

}  // namespace

std::optional<Layout> without_group_axis(const dnnl_memory_desc_t& weights, int64_t groups) {
  std::optional<Layout> full = onednn::layout_of(weights);
  if (!full || groups == 1) return full;
  // Axis 0 becomes (group, output): outer blocks of the groups, then of the outputs, then the inner blocks.
  const int64_t group_block = block_of(*full, 0), output_block = block_of(*full, 1);
  if (full->padded_dims[1] != full->dims[1]) return std::nullopt;  // the padding would be in the middle of the axis
  if (group_block > 1 && full->dims[1] != 1) return std::nullopt;
  const int64_t outer = full->dims[1] / output_block;
  if (outer > 1 && full->strides[0] != outer * full->strides[1]) return std::nullopt;

  Layout merged;
  merged.dims = {full->dims[0] * full->dims[1]};
  merged.padded_dims = {full->padded_dims[0] * full->padded_dims[1]};
  merged.strides = {outer > 1 ? full->strides[1] : full->strides[0]};
  for (int axis = 2; axis < full->rank(); ++axis) {
    merged.dims.push_back(full->dims[axis]);
    merged.padded_dims.push_back(full->padded_dims[axis]);
    merged.strides.push_back(full->strides[axis]);
  }
  for (const auto& [axis, size] : full->blocks) merged.blocks.emplace_back(std::max(0, axis - 1), size);
  return merged;
}

std::optional<dnnl_memory_desc_t> with_group_axis(const Layout& weights, int64_t groups) {
  if (groups == 1) return onednn::describe(weights, dnnl_f32);
  const int64_t outputs = weights.dims[0] / groups, block = block_of(weights, 0);
  const bool depthwise = outputs == 1;
  if (!depthwise && outputs % block != 0) return std::nullopt;

  Layout split;
  split.dims = {groups, outputs};
  split.padded_dims = {depthwise ? weights.padded_dims[0] : groups, outputs};
  split.strides = {depthwise ? weights.strides[0] : weights.strides[0] * (outputs / block), weights.strides[0]};
  for (int axis = 1; axis < weights.rank(); ++axis) {
    split.dims.push_back(weights.dims[axis]);
    split.padded_dims.push_back(weights.padded_dims[axis]);
    split.strides.push_back(weights.strides[axis]);
  }
  for (const auto& [axis, size] : weights.blocks) {
    split.blocks.emplace_back(axis == 0 && depthwise ? 0 : axis + 1, size);
  }
  return onednn::describe(split, dnnl_f32);
}

}  // namespace arbalest::cpu
