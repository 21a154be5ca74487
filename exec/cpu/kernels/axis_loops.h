// Regions of tensors as loops: what movement kernels do to one axis, whatever the layouts.
#pragma once

#include "exec/cpu/kernels/loops.h"
#include "exec/prepare.h"

namespace arbalest::cpu {

// Indices start, start + step, ... of an axis of a tensor that has a layout.
struct AxisRange {
  const Layout& layout;
  int axis;
  int64_t start = 0;
  int64_t step = 1;
};

// A region of one tensor (0, the source) that lies in a region of another (1, the target), built axis by axis.
struct RegionPair {
  Loops<2> loops;
  int64_t from_offset = 0;
  int64_t to_offset = 0;

  // Adds `count` indices of one axis. False where blocks do not allow to say it with strides; the pair is then useless.
  bool add(const AxisRange& from, const AxisRange& to, int64_t count);
  // Adds `count` indices of a target's axis along which the source's single index repeats.
  bool repeat(const AxisRange& to, int64_t count);
};

// The layout in which input i is, if it is dense with at most one inner block (row-major ones in their plain
// description); any other is required to become row-major.
Layout simple_layout(PrepareContext& context, int i);

}  // namespace arbalest::cpu
