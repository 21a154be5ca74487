// Reduce: loops over the input in the order of its memory, each either kept or reduced.
//
// Results are produced in the order in which the kept loops lie in memory, and that is the output's layout: summing an
// nChw8c tensor over all axes but the channels gives [C], a global pool of a channels-last one gives [N, C], with no
// reorder. Where few results take many elements, the outermost reduced loop is cut into chunks (of sizes that depend on
// the shape alone) whose partial results are then combined in order: the same bits on any number of threads.
#include <algorithm>
#include <optional>

#include "exec/cpu/kernels/axis_loops.h"
#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/kernels/loops.h"
#include "exec/cpu/kernels/reduce_loops.h"
#include "exec/cpu/parallel.h"
#include "exec/element_range.h"

namespace arbalest::cpu {

namespace {

constexpr int64_t kResultTile = 256;  // results computed together; their accumulators are on the stack
constexpr int64_t kChunks = 16;       // where a reduction is cut

// Where results go. Of each `stored` results in a row only the first `valid` are real (the rest reduce padding).
struct Target {
  Layout layout;
  int64_t stored = 1;
  int64_t valid = 1;
};

struct AxisDigit {
  int axis;
  bool kept;
  Layout::Digit digit;
};

// All digits of a layout, slow to fast.
std::vector<AxisDigit> digits_of(const Layout& layout, const std::vector<int>& reduced) {
  std::vector<AxisDigit> all;
  for (int axis = 0; axis < layout.rank(); ++axis) {
    const bool kept = std::find(reduced.begin(), reduced.end(), axis) == reduced.end();
    for (const Layout::Digit& d : layout.digits(axis)) all.push_back({axis, kept, d});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const AxisDigit& a, const AxisDigit& b) { return a.digit.stride > b.digit.stride; });
  return all;
}

// The layout in which the results come; none if it has no description as a Layout.
std::optional<Target> target_of(const Reduce& p, const Layout& from, const Dims& out) {
  const auto is_kept = [&](int axis) { return std::find(p.axes.begin(), p.axes.end(), axis) == p.axes.end(); };
  const int blocked = from.blocks.empty() ? -1 : from.blocks[0].first;
  if (blocked < 0 || !is_kept(blocked)) {
    if (from.has_padding() && p.kind != Reduction::sum && p.kind != Reduction::mean) return std::nullopt;
    std::vector<int> order;
    for (const int axis : from.order()) {
      if (p.keep) order.push_back(axis);
      if (!p.keep && is_kept(axis)) {
        order.push_back(axis - static_cast<int>(std::lower_bound(p.axes.begin(), p.axes.end(), axis) - p.axes.begin()));
      }
    }
    return Target{Layout::permuted(out, order)};
  }
  if (p.keep) return Target{from.resized(out)};
  int last = -1;
  for (const AxisDigit& d : digits_of(from, p.axes)) {
    if (!d.kept) continue;
    if (d.axis < last) return std::nullopt;
    last = d.axis;
  }
  if (!from.has_padding()) return Target{Layout::row_major(out)};
  if (last != blocked) return std::nullopt;
  const auto channel = static_cast<size_t>(blocked);
  return Target{Layout::row_major(out), from.padded_dims[channel], from.dims[channel]};
}

class Reducer {
 public:
  Reducer(const Reduce& p, const Layout& from, Target target, DataType type, int threads);

  size_t scratch_bytes() const;
  const char* name() const { return by_rows_ ? "rows" : "columns"; }
  void run(const void* in, void* out, void* scratch) const;

 private:
  struct Range {
    int64_t begin, end;
  };
  Range tile(int64_t t) const;
  const std::byte* at(const void* in, int64_t offset) const {
    return static_cast<const std::byte*>(in) + offset * static_cast<int64_t>(element_bytes_);
  }
  std::byte* accumulator(void* accumulators, int64_t i) const {
    return static_cast<std::byte*>(accumulators) + i * static_cast<int64_t>(loops_.accumulator_bytes);
  }
  void reduce_tile(const void* in, const Range& results, const Range& chunk, void* accumulators) const;
  void reduce_at(const void* in, int64_t offset, int64_t n, const Range& chunk, void* accumulators) const;
  void finish(const Range& results, void* accumulators, void* out) const;

  ReduceLoops loops_;
  size_t element_bytes_;
  Target target_;
  int threads_;
  bool by_rows_ = false;    // the fastest loop is reduced
  Loops<1> kept_;           // all kept loops, by columns without the fastest
  int64_t contiguous_ = 1;  // size of the fastest loop
  Loop<1> first_;           // reduced loops: the outermost, which chunks cut,
  Loops<1> middle_;         // those between,
  Loop<1> rows_;            // and the innermost but `contiguous_`; first_ and rows_ may be absent (size 1)
  int64_t results_ = 1;
  int64_t elements_ = 1;  // for each result
  int64_t tiles_ = 1;
  int64_t tiles_per_row_ = 1;  // by columns: tiles of `contiguous_`
  int64_t chunks_ = 1;
};

Reducer::Reducer(const Reduce& p, const Layout& from, Target target, DataType type, int threads)
    : loops_(reduce_loops(p.kind, type)), element_bytes_(size_of(type)), target_(std::move(target)) {
  // Operand 1 only keeps kept and reduced loops from being joined.
  Loops<2> all;
  int64_t kept_stride = 1;
  std::vector<AxisDigit> digits = digits_of(from, p.axes);
  for (size_t i = digits.size(); i-- > 0;) {
    const AxisDigit& d = digits[i];
    all.insert(all.begin(), {d.digit.size, {d.digit.stride, d.kept ? kept_stride : 0}});
    kept_stride *= d.kept ? d.digit.size : 1;
  }
  coalesce(all);
  if (all.empty()) all.push_back({1, {1, 1}});
  for (const int axis : p.axes) elements_ *= from.dims[static_cast<size_t>(axis)];
  results_ = kept_stride;
  ensure(all.back().strides[0] == 1, "a reduction of a layout with gaps");
  by_rows_ = all.back().strides[1] == 0;
  contiguous_ = all.back().size;
  all.pop_back();

  Loops<1> reduced;
  for (const Loop<2>& l : all) (l.strides[1] == 0 ? reduced : kept_).push_back({l.size, {l.strides[0]}});
  if (!reduced.empty()) {
    rows_ = reduced.back();
    reduced.pop_back();
  }
  if (!reduced.empty()) {
    first_ = reduced.front();
    middle_.assign(reduced.begin() + 1, reduced.end());
  }
  threads_ = threads_for(threads, results_ * elements_);
  tiles_per_row_ = (contiguous_ + kResultTile - 1) / kResultTile;
  tiles_ = by_rows_ ? (results_ + kResultTile - 1) / kResultTile : results_ / contiguous_ * tiles_per_row_;
  if (by_rows_ && results_ * elements_ >= kElementsForThreads) {
    tiles_ = std::max(tiles_, std::min(results_, kChunks));  // fewer results a tile
  }
  if (results_ * elements_ >= kElementsForThreads && tiles_ < kChunks) {
    // The outermost reduced loop is first_, or rows_, or the contiguous one.
    const int64_t outermost = first_.size > 1 ? first_.size : rows_.size > 1 || !by_rows_ ? rows_.size : contiguous_;
    chunks_ = std::min(kChunks, outermost);
  }
}

size_t Reducer::scratch_bytes() const {
  return chunks_ == 1 ? 0 : static_cast<size_t>(chunks_ * results_) * loops_.accumulator_bytes;
}

Reducer::Range Reducer::tile(int64_t t) const {
  if (by_rows_) {
    const ElementRange b = part_of({0, results_}, t, tiles_);
    return {b.begin, b.end};
  }
  const int64_t row = t / tiles_per_row_ * contiguous_;
  const int64_t begin = t % tiles_per_row_ * kResultTile;
  return {row + begin, row + std::min(begin + kResultTile, contiguous_)};
}

// Reduces what belongs to one result (by rows) or n neighbouring ones (by columns), whose first element is at offset.
void Reducer::reduce_at(const void* in, int64_t offset, int64_t n, const Range& chunk, void* accumulators) const {
  const auto call = by_rows_ ? loops_.rows : loops_.columns;
  if (first_.size == 1 && rows_.size == 1 && by_rows_) {
    call(at(in, offset + chunk.begin), 1, 0, chunk.end - chunk.begin, accumulators);
  } else if (first_.size == 1) {
    const int64_t stride = rows_.strides[0];
    call(at(in, offset + chunk.begin * stride), chunk.end - chunk.begin, stride, n, accumulators);
  } else {
    for (int64_t i = chunk.begin; i < chunk.end; ++i) {
      Odometer<1> o(middle_, 0);
      for (int64_t m = iterations(middle_); m > 0; --m, o.advance()) {
        call(at(in, offset + i * first_.strides[0] + o.offset(0)), rows_.size, rows_.strides[0], n, accumulators);
      }
    }
  }
}

void Reducer::reduce_tile(const void* in, const Range& results, const Range& chunk, void* accumulators) const {
  loops_.start(results.end - results.begin, accumulators);
  if (!by_rows_) {
    const Odometer<1> o(kept_, results.begin / contiguous_);
    reduce_at(in, o.offset(0) + results.begin % contiguous_, results.end - results.begin, chunk, accumulators);
    return;
  }
  Odometer<1> o(kept_, results.begin);
  for (int64_t r = results.begin; r < results.end; ++r, o.advance()) {
    reduce_at(in, o.offset(0), contiguous_, chunk, accumulator(accumulators, r - results.begin));
  }
}

void Reducer::finish(const Range& results, void* accumulators, void* out) const {
  int64_t begin = results.begin;
  while (begin < results.end) {
    const int64_t row = begin / target_.stored;
    const int64_t column = begin % target_.stored;
    const int64_t end = target_.stored == 1 ? results.end : std::min(results.end, (row + 1) * target_.stored);
    const int64_t n = target_.stored == 1 ? end - begin : std::min(end - begin, target_.valid - column);
    const int64_t to = target_.stored == 1 ? begin : row * target_.valid + column;
    if (n > 0) {
      loops_.finish(accumulator(accumulators, begin - results.begin), n, elements_,
                    static_cast<std::byte*>(out) + to * static_cast<int64_t>(element_bytes_));
    }
    begin = end;
  }
}

void Reducer::run(const void* in, void* out, void* scratch) const {
  const int64_t outermost = first_.size > 1 ? first_.size : rows_.size > 1 || !by_rows_ ? rows_.size : contiguous_;
  parallel_for(threads_, tiles_ * chunks_, [&](int64_t begin, int64_t end) {
    alignas(64) std::byte accumulators[kResultTile * kMaxAccumulatorBytes];
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t c = unit / tiles_;
      const Range results = tile(unit % tiles_);
      const ElementRange chunk = part_of({0, outermost}, c, chunks_);
      void* to = chunks_ == 1 ? accumulators : accumulator(scratch, c * results_ + results.begin);
      reduce_tile(in, results, {chunk.begin, chunk.end}, to);
      if (chunks_ == 1) finish(results, to, out);
    }
  });
  if (chunks_ == 1) return;
  for (int64_t c = 1; c < chunks_; ++c) loops_.combine(accumulator(scratch, c * results_), results_, scratch);
  finish({0, results_}, scratch, out);
}

// Results of no elements at all.
Prepared reduce_nothing(const ReduceLoops& loops, int64_t results, size_t element_bytes) {
  return {[=](const KernelArgs& a) -> BoundKernel {
            return [=, out = static_cast<std::byte*>(a.outputs[0])] {
              alignas(8) std::byte accumulator[kMaxAccumulatorBytes];
              loops.start(1, accumulator);
              for (int64_t i = 0; i < results; ++i) {
                loops.finish(accumulator, 1, 0, out + i * static_cast<int64_t>(element_bytes));
              }
            };
          },
          0, "fill", 0};
}

}  // namespace

Prepared prepare(const Reduce& p, PrepareContext& c) {
  const DataType type = c.input_type(0).dtype;
  const Dims out = c.output_type(0).dims();
  if (element_count(c.input_type(0).dims()) == 0) {
    return reduce_nothing(reduce_loops(p.kind, type), element_count(out), size_of(type));
  }
  Layout from = simple_layout(c, 0);
  std::optional<Target> target = target_of(p, from, out);
  if (!target) {
    c.require_row_major(0);
    from = Layout::row_major(from.dims);
    target = target_of(p, from, out);
  }
  c.set_output(0, target->layout);
  const Reducer reducer(p, from, *target, type, c.threads());
  return {[reducer](const KernelArgs& a) -> BoundKernel {
            return
                [reducer, in = a.inputs[0], to = a.outputs[0], scratch = a.scratch] { reducer.run(in, to, scratch); };
          },
          reducer.scratch_bytes(), reducer.name(), static_cast<double>(element_count(from.dims))};
}

}  // namespace arbalest::cpu
