// Map on the tile interpreter, in whatever layout the operands of the output's shape arrive.
//
// The output's memory is walked through as it lies: over the digits of its layout, slow to fast. An operand of the
// output's shape lies the same way; one that is broadcast has strides into its own memory, so that the per-channel
// vector of a channels-last or channel-blocked tensor costs no reorder.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "exec/cpu/kernels/axis_loops.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/kernels/loops.h"
#include "exec/cpu/map/map_program.h"
#include "exec/cpu/parallel.h"
#include "exec/element_range.h"
#include "exec/memory_plan.h"

namespace arbalest::cpu {

namespace {

// Where the padding of a layout with one inner block lies: runs at the end of the last blocks.
struct Padding {
  Loops<1> loops;
  int64_t offset = 0;
  int64_t run = 0;  // elements; 0: no padding

  explicit Padding(const Layout& layout) {
    if (!layout.has_padding()) return;
    const auto [axis, block] = layout.blocks.at(0);
    const auto blocked = static_cast<size_t>(axis);
    const int64_t used = layout.dims[blocked] % block;
    run = block - used;
    offset = layout.dims[blocked] / block * layout.strides[blocked] + used;
    for (size_t i = 0; i < layout.dims.size(); ++i) {
      if (i != blocked) loops.push_back({layout.dims[i], {layout.strides[i]}});
    }
    coalesce(loops);
  }

  void clear(void* data, size_t element_bytes) const {
    if (run == 0) return;
    const auto bytes = static_cast<int64_t>(element_bytes);
    Odometer<1> o(loops, 0);
    for (int64_t n = iterations(loops); n > 0; --n, o.advance()) {
      std::memset(static_cast<std::byte*>(data) + (offset + o.offset(0)) * bytes, 0, static_cast<size_t>(run * bytes));
    }
  }
};

bool is_output_shaped(const PrepareContext& c, int i) { return c.input_type(i).shape == c.output_type(0).shape; }
bool is_scalar(const PrepareContext& c, int i) { return element_count(c.input_type(i).dims()) == 1; }

// The layout of most of the operands that have the output's shape; of equally many rather one that is not row-major,
// which is what convolutions work in, and above all what the output's owner wants.
Layout choose_layout(const PrepareContext& c) {
  const std::optional<Layout> wanted = c.wanted_output(0);
  Layout best = Layout::row_major(c.output_type(0).dims());
  int best_votes = 0;
  for (int i = 0; i < c.input_count(); ++i) {
    if (!is_output_shaped(c, i)) continue;
    const Layout& layout = c.input_layout(i);
    if (layout.elements() != element_count(layout.padded_dims)) continue;  // has gaps
    int votes = layout.is_row_major() ? 0 : 1;
    if (wanted && layout == *wanted) votes += 2 * c.input_count();
    for (int j = 0; j < c.input_count(); ++j) votes += is_output_shaped(c, j) && c.input_layout(j) == layout ? 2 : 0;
    if (votes <= best_votes) continue;
    best_votes = votes;
    best = layout;
  }
  return best.is_row_major() ? Layout::row_major(best.dims) : best;
}

// Whether padding may be computed like any other element: no operand would be read where it has none.
bool covers_padding(const PrepareContext& c, const Layout& layout) {
  for (int i = 0; i < c.input_count(); ++i) {
    if (!is_output_shaped(c, i) && !is_scalar(c, i)) return false;
  }
  return layout.blocks.size() == 1;
}

bool keeps_zero(const Scalar& expression, const PrepareContext& c) {
  for (int i = 0; i < c.input_count(); ++i) {
    if (!is_output_shaped(c, i)) return false;
  }
  const std::vector<double> zeros(static_cast<size_t>(c.input_count()), 0.0);
  const double value = evaluate(expression, zeros);
  return value == 0 && !std::signbit(value);
}

// One digit of an axis of the output's layout; `unit`: by how many indices of the axis it counts.
struct StridedAxis {
  int axis;
  int64_t size, stride, unit;
};

std::vector<StridedAxis> axes_of(const Layout& layout) {
  std::vector<StridedAxis> walk;
  for (int axis = 0; axis < layout.rank(); ++axis) {
    const std::vector<Layout::Digit> digits = layout.digits(axis);
    int64_t unit = 1;
    for (size_t i = digits.size(); i-- > 0;) {
      walk.push_back({axis, digits[i].size, digits[i].stride, unit});
      unit *= digits[i].size;
    }
  }
  std::sort(walk.begin(), walk.end(), [](const StridedAxis& a, const StridedAxis& b) { return a.stride > b.stride; });
  return walk;
}

// Strides of an operand that is broadcast to the output, along the walk through the output.
Dims broadcast_strides(const Layout& operand, int output_rank, const std::vector<StridedAxis>& walk) {
  Dims strides;
  for (const StridedAxis& w : walk) {
    const int axis = w.axis - (output_rank - operand.rank());
    const bool repeats = axis < 0 || operand.dims[static_cast<size_t>(axis)] == 1;
    strides.push_back(repeats ? 0 : operand.strides[static_cast<size_t>(axis)] * w.unit);
  }
  return strides;
}

MapProgram compile_in(const Layout& layout, const Scalar& expression, PrepareContext& c) {
  const std::vector<StridedAxis> walk = axes_of(layout);
  Dims dims, own;
  for (const StridedAxis& w : walk) {
    dims.push_back(w.size);
    own.push_back(w.stride);
  }
  std::vector<Dims> strides;
  for (int i = 0; i < c.input_count(); ++i) {
    if (is_output_shaped(c, i)) {
      if (!(c.input_layout(i) == layout)) c.require_input(i, layout);
      if (size_of(c.input_type(i).dtype) == size_of(c.output_type(0).dtype)) c.may_overwrite(0, i);
      strides.push_back(own);
      continue;
    }
    Layout operand = simple_layout(c, i);
    if (!operand.is_permutation()) {
      c.require_row_major(i);
      operand = Layout::row_major(operand.dims);
    }
    strides.push_back(broadcast_strides(operand, layout.rank(), walk));
  }
  return compile(expression, dims, strides);
}

}  // namespace

Prepared prepare(const Map& p, PrepareContext& c) {
  Layout layout = choose_layout(c);
  if (layout.has_padding() && !covers_padding(c, layout)) layout = Layout::row_major(layout.dims);
  c.set_output(0, layout);
  const MapProgram program = compile_in(layout, p.expression, c);
  const Padding padding(keeps_zero(p.expression, c) ? Layout::row_major(layout.dims) : layout);

  const int64_t count = layout.elements();
  const int64_t grain = std::max<int64_t>(1, program.grain());
  const double work =
      static_cast<double>(count) * static_cast<double>(std::max<size_t>(1, program.instruction_count()));
  const int threads = work < static_cast<double>(kElementsForThreads) ? 1 : c.threads();
  const size_t scratch_bytes = aligned_bytes(program.scratch_bytes());
  return {[=, element_bytes = size_of(c.output_type(0).dtype)](const KernelArgs& a) -> BoundKernel {
            return [=, inputs = std::vector<const void*>(a.inputs.begin(), a.inputs.end()), out = a.outputs[0],
                    scratch = static_cast<std::byte*>(a.scratch)] {
              parallel_for(threads, threads, [&](int64_t first, int64_t last) {
                for (int64_t part = first; part < last; ++part) {
                  const ElementRange b = part_of({0, count}, part, threads, grain);
                  program.run(inputs, out, b.begin, b.end, scratch + static_cast<size_t>(part) * scratch_bytes);
                }
              });
              padding.clear(out, element_bytes);
            };
          },
          scratch_bytes* static_cast<size_t>(threads), fmt::format("map:{}", program.instruction_count()), work};
}

Prepared prepare(const StopGradient&, PrepareContext& c) {
  c.set_output(0, c.input_layout(0));
  c.alias(0, 0);
  return view();
}

}  // namespace arbalest::cpu
