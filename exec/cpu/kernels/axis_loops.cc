#include "exec/cpu/kernels/axis_loops.h"

#include <algorithm>

namespace arbalest::cpu {

namespace {

int64_t stride_of(const AxisRange& r) { return r.layout.strides[static_cast<size_t>(r.axis)]; }
int64_t size_of_axis(const AxisRange& r) { return r.layout.dims[static_cast<size_t>(r.axis)]; }

// With blocks of b on either side: whether the range begins at a block and goes up to one, or to the tensor's end.
bool whole_blocks(const AxisRange& r, int64_t count, int64_t b) {
  return r.step == 1 && r.start % b == 0 && (count % b == 0 || r.start + count == size_of_axis(r));
}

// Strides of the outer and the inner index when the axis is taken in blocks of b.
std::pair<int64_t, int64_t> split(const AxisRange& r, int64_t b) {
  const bool blocked = r.layout.block_of(r.axis) == b;
  return blocked ? std::pair(stride_of(r), int64_t{1}) : std::pair(stride_of(r) * b, stride_of(r));
}

int64_t start_of(const AxisRange& r) { return r.start / r.layout.block_of(r.axis) * stride_of(r); }

}  // namespace

bool RegionPair::add(const AxisRange& from, const AxisRange& to, int64_t count) {
  const int64_t from_block = from.layout.block_of(from.axis);
  const int64_t to_block = to.layout.block_of(to.axis);
  from_offset += start_of(from);
  to_offset += start_of(to);
  if (from_block == 1 && to_block == 1) {
    loops.push_back({count, {stride_of(from) * from.step, stride_of(to) * to.step}});
    return true;
  }
  const int64_t b = std::max(from_block, to_block);
  if (std::min(from_block, to_block) != 1 && from_block != to_block) return false;
  if (!whole_blocks(from, count, b) || !whole_blocks(to, count, b)) return false;
  if (from_block != to_block && count % b != 0) return false;  // padding on one side only
  const auto [from_outer, from_inner] = split(from, b);
  const auto [to_outer, to_inner] = split(to, b);
  loops.push_back({(count + b - 1) / b, {from_outer, to_outer}});
  loops.push_back({b, {from_inner, to_inner}});
  return true;
}

bool RegionPair::repeat(const AxisRange& to, int64_t count) {
  if (to.layout.block_of(to.axis) != 1) return false;
  to_offset += start_of(to);
  loops.push_back({count, {0, stride_of(to) * to.step}});
  return true;
}

Layout simple_layout(PrepareContext& context, int i) {
  const Layout& layout = context.input_layout(i);
  Layout row_major = Layout::row_major(layout.dims);
  if (layout.is_row_major()) return row_major;
  if (layout.blocks.size() <= 1 && layout.elements() == element_count(layout.padded_dims)) return layout;
  context.require_input(i, row_major);
  return row_major;
}

}  // namespace arbalest::cpu
