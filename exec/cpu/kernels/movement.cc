// Reshape, Transpose, Slice, SliceBackward, Pad, Concat, Expand: strided copies, by element size.
//
// Each tries to work in the layout that arrives and to keep its order of axes; where blocks stand in the way it asks
// for row-major inputs.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "exec/cpu/kernels/axis_loops.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/kernels/strided_copy.h"
#include "graph/host_tensor.h"

namespace arbalest::cpu {

namespace {

Prepared copy_kernel(const StridedCopy& copy, int threads) {
  return {[copy, threads](const KernelArgs& a) -> BoundKernel {
            return [copy, threads, from = a.inputs[0], to = a.outputs[0]] { copy.run(from, to, threads); };
          },
          0, copy.name(), 0};
}

size_t element_size(const PrepareContext& c) { return size_of(c.output_type(0).dtype); }

StridedCopy make_copy(const PrepareContext& c, const RegionPair& r) {
  return StridedCopy(element_size(c), r.loops, r.from_offset, r.to_offset);
}

Dims values_of(const std::vector<Dim>& dims) {
  Dims values;
  for (const Dim& d : dims) values.push_back(d.value());
  return values;
}

// Pairs axis with axis: `from_start + from_step * i` of the source with `to_start + to_step * i` of the target.
struct Region {
  Dims from_start, from_step, to_start, to_step, count;

  explicit Region(const Dims& count)
      : from_start(count.size(), 0),
        from_step(count.size(), 1),
        to_start(count.size(), 0),
        to_step(count.size(), 1),
        count(count) {}
};

bool build(RegionPair& pair, const Layout& from, const Layout& to, const Region& r) {
  bool possible = true;
  for (int axis = 0; axis < from.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    possible = possible && pair.add({from, axis, r.from_start[i], r.from_step[i]},
                                    {to, axis, r.to_start[i], r.to_step[i]}, r.count[i]);
  }
  return possible;
}

struct CopyTo {
  StridedCopy copy;
  int64_t stored;  // elements of the output's memory
};

// The copy of a region from input 0 to output 0, which keeps the input's order of axes if it can.
CopyTo copy_region(PrepareContext& c, const Region& region, bool may_have_padding) {
  const Dims to_dims = c.output_type(0).dims();
  Layout from = simple_layout(c, 0);
  Layout to = from.resized(to_dims);
  RegionPair pair;
  if ((to.has_padding() && !may_have_padding) || !build(pair, from, to, region)) {
    c.require_row_major(0);
    pair = {};
    from = Layout::row_major(from.dims);
    to = Layout::row_major(to_dims);
    build(pair, from, to, region);
  }
  c.set_output(0, to);
  return {make_copy(c, pair), to.elements()};
}

// Fills the output, then copies the input into a part of it.
Prepared fill_and_copy_kernel(const HostTensor& value, const CopyTo& to, int threads) {
  return {[value, to, threads](const KernelArgs& a) -> BoundKernel {
            return [value, to, threads, input = a.inputs[0], output = a.outputs[0]] {
              fill(output, to.stored, value.bytes.data(), value.bytes.size(), threads);
              to.copy.run(input, output, threads);
            };
          },
          0, fmt::format("fill+{}", to.copy.name()), 0};
}

bool is_channels_last(const Layout& layout) {
  const int rank = layout.rank();
  if (rank < 3 || rank > 5) return false;
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin() + 1, order.end(), 2);
  order.back() = 1;
  return layout == Layout::permuted(layout.dims, order);
}

}  // namespace

Prepared prepare(const Reshape&, PrepareContext& c) {
  if (!c.input_layout(0).is_row_major()) c.require_row_major(0);
  c.alias(0, 0);
  return view();
}

Prepared prepare(const Transpose& p, PrepareContext& c) {
  const Layout from = simple_layout(c, 0);
  const Dims dims = c.output_type(0).dims();
  if (from.is_permutation()) {
    // The same memory is the transposed tensor in another layout: enough, if that is one in which others compute.
    Layout seen = Layout::row_major(dims);
    for (size_t i = 0; i < dims.size(); ++i) seen.strides[i] = from.strides[static_cast<size_t>(p.permutation[i])];
    if (seen.is_row_major() || is_channels_last(seen) || c.wanted_output(0) == seen) {
      c.set_output(0, seen);
      c.alias(0, 0);
      return view();
    }
  }
  const Layout to = Layout::row_major(dims);
  const auto build_from = [&](RegionPair& pair, const Layout& source) {
    bool possible = true;
    for (int axis = 0; axis < to.rank(); ++axis) {
      const auto i = static_cast<size_t>(axis);
      possible = possible && pair.add({source, p.permutation[i]}, {to, axis}, dims[i]);
    }
    return possible;
  };
  RegionPair pair;
  if (!build_from(pair, from)) {
    c.require_row_major(0);
    pair = {};
    build_from(pair, Layout::row_major(from.dims));
  }
  return copy_kernel(make_copy(c, pair), c.threads());
}

Prepared prepare(const Slice& p, PrepareContext& c) {
  Region region(c.output_type(0).dims());
  region.from_start = values_of(p.start);
  region.from_step = p.step;
  return copy_kernel(copy_region(c, region, /*may_have_padding=*/true).copy, c.threads());
}

Prepared prepare(const SliceBackward& p, PrepareContext& c) {
  Region region(c.input_type(0).dims());
  region.to_start = values_of(p.start);
  region.to_step = p.step;
  const CopyTo to = copy_region(c, region, /*may_have_padding=*/true);
  if (region.count == c.output_type(0).dims()) return copy_kernel(to.copy, c.threads());
  return fill_and_copy_kernel(HostTensor(c.output_type(0).dtype, {}), to, c.threads());
}

Prepared prepare(const Pad& p, PrepareContext& c) {
  Region region(c.input_type(0).dims());
  region.to_start = values_of(p.begin);
  HostTensor value(DataType::f64, {});
  value.as<double>()[0] = p.value;
  const CopyTo to = copy_region(c, region, /*may_have_padding=*/p.value == 0);
  return fill_and_copy_kernel(value.to(c.output_type(0).dtype), to, c.threads());
}

Prepared prepare(const Concat& p, PrepareContext& c) {
  const Dims dims = c.output_type(0).dims();
  const auto axis = static_cast<size_t>(p.axis);
  // All inputs in the layout of the largest, if that one can hold the parts side by side.
  int largest = 0;
  for (int i = 1; i < c.input_count(); ++i) {
    if (element_count(c.input_type(i).dims()) > element_count(c.input_type(largest).dims())) largest = i;
  }
  const auto copies_in = [&](const Layout& to) {
    std::vector<StridedCopy> copies;
    int64_t start = 0;
    for (int i = 0; i < c.input_count(); ++i) {
      const Dims part = c.input_type(i).dims();
      Region region(part);
      region.to_start[axis] = start;
      start += part[axis];
      RegionPair pair;
      if (!build(pair, to.resized(part), to, region)) return std::vector<StridedCopy>{};
      copies.push_back(make_copy(c, pair));
    }
    return copies;
  };
  Layout to = simple_layout(c, largest).resized(dims);
  std::vector<StridedCopy> copies = copies_in(to);
  if (copies.empty()) {
    to = Layout::row_major(dims);
    copies = copies_in(to);
  }
  for (int i = 0; i < c.input_count(); ++i) {
    const Layout part = to.resized(c.input_type(i).dims());
    if (!(c.input_layout(i) == part)) c.require_input(i, part);
  }
  c.set_output(0, to);
  const std::string name = copies.empty() ? "memcpy" : copies[static_cast<size_t>(largest)].name();
  return {[copies, threads = c.threads()](const KernelArgs& a) -> BoundKernel {
            return [copies, threads, from = std::vector<void*>(a.inputs.begin(), a.inputs.end()), to = a.outputs[0]] {
              for (size_t i = 0; i < copies.size(); ++i) copies[i].run(from[i], to, threads);
            };
          },
          0, name, 0};
}

Prepared prepare(const Expand&, PrepareContext& c) {
  const Dims dims = c.output_type(0).dims();
  const auto rank = static_cast<int>(dims.size());
  const auto build_from = [&](RegionPair& pair, const Layout& from, const Layout& to) {
    bool possible = true;
    for (int axis = 0; axis < rank && possible; ++axis) {
      const int64_t count = dims[static_cast<size_t>(axis)];
      const int source = axis - (rank - from.rank());
      const bool repeats = source < 0 || (from.dims[static_cast<size_t>(source)] == 1 && count != 1);
      possible = repeats ? pair.repeat({to, axis}, count) : pair.add({from, source}, {to, axis}, count);
    }
    return possible;
  };
  const Layout from = simple_layout(c, 0);
  const Layout to = from.rank() == rank ? from.resized(dims) : Layout::row_major(dims);
  RegionPair pair;
  if (build_from(pair, from, to)) {
    c.set_output(0, to);
    return copy_kernel(make_copy(c, pair), c.threads());
  }
  c.require_row_major(0);
  pair = {};
  build_from(pair, Layout::row_major(from.dims), Layout::row_major(dims));
  return copy_kernel(make_copy(c, pair), c.threads());
}

}  // namespace arbalest::cpu
