#include "exec/cpu/map/map_program.h"

#include <algorithm>
#include <cstring>

#include "exec/cpu/map/schedule.h"
#include "graph/base/error.h"

namespace arbalest {

namespace mapping {

namespace {

template <class E>
void load_run(const char* from, int64_t stride, int64_t n, E* out) {
  const auto bytes = stride * static_cast<int64_t>(sizeof(E));
  if (stride == 1) {
    std::memcpy(out, from, static_cast<size_t>(n) * sizeof(E));
  } else if (stride == 0) {
    E value;
    std::memcpy(&value, from, sizeof(E));
    std::fill_n(out, n, value);
  } else {
    for (int64_t i = 0; i < n; ++i) std::memcpy(out + i, from + i * bytes, sizeof(E));
  }
}

// Elements [begin, end) below the axis, in row-major order, of an input that starts at `from`.
template <class E>
void load(const Schedule& s, const Input& input, size_t axis, const char* from, int64_t begin, int64_t end, E* out) {
  const int64_t stride = input.strides[axis];
  const auto bytes = stride * static_cast<int64_t>(sizeof(E));
  if (axis + 1 == s.dims.size()) return load_run(from + begin * bytes, stride, end - begin, out);
  const int64_t inner = s.inner_sizes[axis];
  for (int64_t i = begin / inner; begin < end; ++i) {
    const int64_t stop = std::min(end, (i + 1) * inner);
    const int64_t loaded = stop - begin;
    load(s, input, axis + 1, from + i * bytes, begin - i * inner, stop - i * inner, out);
    out += loaded;
    begin = stop;
    if (stride != 0 || loaded != inner) continue;
    // The rest repeats what was just loaded: double it until the end.
    const E* pattern = out - inner;
    for (int64_t filled = inner; begin < end;) {
      const int64_t n = std::min(filled, end - begin);
      std::memcpy(out, pattern, static_cast<size_t>(n) * sizeof(E));
      out += n;
      begin += n;
      filled += n;
    }
  }
}

void load(const Schedule& s, const Input& input, size_t axis, const void* from, int64_t begin, int64_t end, char* out) {
  const char* base = static_cast<const char*>(from);
  switch (input.element_bytes) {
    case 1:
      return load(s, input, axis, base, begin, end, reinterpret_cast<uint8_t*>(out));
    case 2:
      return load(s, input, axis, base, begin, end, reinterpret_cast<uint16_t*>(out));
    case 4:
      return load(s, input, axis, base, begin, end, reinterpret_cast<uint32_t*>(out));
    default:
      return load(s, input, axis, base, begin, end, reinterpret_cast<uint64_t*>(out));
  }
}

class Run {
 public:
  Run(const Schedule& s, std::span<const void* const> inputs, void* output, void* scratch)
      : s_(s),
        inputs_(inputs),
        output_(static_cast<char*>(output)),
        scratch_(static_cast<char*>(scratch)),
        address_(static_cast<char**>(scratch)),
        row_offsets_(reinterpret_cast<int64_t*>(scratch_ + s.row_offsets)) {
    std::fill_n(address_, s.slot_count, nullptr);
    // Kernels only read constants.
    char* constants = const_cast<char*>(reinterpret_cast<const char*>(s.constants.data()));
    for (int i = 0; i < s.constant_count; ++i) address_[i] = constants + static_cast<size_t>(i) * kSplatBytes;
    for (const ScratchSlot& slot : s.scratch) address_[slot.slot] = scratch_ + slot.offset;
    for (const Input& input : s.inputs) {
      if (input.access == Access::scalar) splat(input, 0);
      if (input.access == Access::periodic) load(s, input, 0, base(input), 0, s.tile, address_[input.slot]);
    }
    execute(s.once_splat, kSplatLanes);
    execute(s.once_tile, static_cast<size_t>(s.tile));
  }

  void flat(int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t within = begin % s_.tile;
      const int64_t n = std::min(s_.tile - within, end - begin);
      for (const ScratchSlot& slot : s_.scratch)
        address_[slot.slot] = scratch_ + slot.offset + static_cast<size_t>(within) * slot.lane_bytes;
      for (const Input& input : s_.inputs) {
        if (input.access == Access::direct) address_[input.slot] = element(input, begin);
        if (input.access == Access::expanded) load(s_, input, 0, base(input), begin, begin + n, address_[input.slot]);
      }
      execute_tile(begin, n);
      begin += n;
    }
  }

  void rows(int64_t begin, int64_t end) {
    const int64_t length = s_.dims.back();
    while (begin < end) {
      const int64_t row = begin / length;
      const int64_t stop = std::min(end, (row + 1) * length);
      enter_row(row);
      for (int64_t n = 0; begin < stop; begin += n) {
        n = std::min(s_.tile, stop - begin);
        const int64_t column = begin - row * length;
        for (size_t i = 0; i < s_.inputs.size(); ++i) {
          const Input& input = s_.inputs[i];
          if (input.access == Access::direct) address_[input.slot] = element(input, row_offsets_[i] + column);
          if (input.access == Access::expanded)
            load(s_, input, s_.dims.size() - 1, element(input, row_offsets_[i]), column, column + n,
                 address_[input.slot]);
        }
        execute_tile(begin, n);
      }
    }
  }

 private:
  const void* base(const Input& input) const { return inputs_[static_cast<size_t>(input.index)]; }

  char* element(const Input& input, int64_t offset) const {  // kernels only read inputs
    return static_cast<char*>(const_cast<void*>(base(input))) + offset * static_cast<int64_t>(input.element_bytes);
  }

  void splat(const Input& input, int64_t offset) {
    const char* from = element(input, offset);
    char* out = address_[input.slot];
    switch (input.element_bytes) {
      case 1:
        return load_run(from, 0, kSplatLanes, reinterpret_cast<uint8_t*>(out));
      case 2:
        return load_run(from, 0, kSplatLanes, reinterpret_cast<uint16_t*>(out));
      case 4:
        return load_run(from, 0, kSplatLanes, reinterpret_cast<uint32_t*>(out));
      default:
        return load_run(from, 0, kSplatLanes, reinterpret_cast<uint64_t*>(out));
    }
  }

  void enter_row(int64_t row) {
    for (size_t i = 0; i < s_.inputs.size(); ++i) row_offsets_[i] = 0;
    for (size_t d = s_.dims.size() - 1; d-- > 0;) {
      const int64_t position = row % s_.dims[d];
      row /= s_.dims[d];
      for (size_t i = 0; i < s_.inputs.size(); ++i) row_offsets_[i] += position * s_.inputs[i].strides[d];
    }
    for (size_t i = 0; i < s_.inputs.size(); ++i)
      if (s_.inputs[i].access == Access::row) splat(s_.inputs[i], row_offsets_[i]);
    execute(s_.per_row, kSplatLanes);
  }

  void execute_tile(int64_t begin, int64_t n) {
    address_[s_.output_slot] = output_ + begin * static_cast<int64_t>(s_.output_bytes);
    execute(s_.per_tile, static_cast<size_t>(n));
  }

  void execute(const std::vector<Instruction>& instructions, size_t n) {
    for (const Instruction& i : instructions) {
      Call call = i.call;
      call.out = address_[i.out];
      for (size_t k = 0; k < call.in.size(); ++k) call.in[k] = address_[i.in[k]];
      call.n = n;
      i.kernel(call);
    }
  }

  const Schedule& s_;
  std::span<const void* const> inputs_;
  char* output_;
  char* scratch_;
  char** address_;  // of each slot; in the scratch
  int64_t* row_offsets_;
};

}  // namespace

}  // namespace mapping

int64_t MapProgram::element_count() const { return schedule_->count; }

size_t MapProgram::scratch_bytes() const { return schedule_->scratch_bytes; }

int64_t MapProgram::grain() const {
  return schedule_->by_rows ? std::min(schedule_->tile, schedule_->dims.back()) : schedule_->tile;
}

size_t MapProgram::instruction_count() const { return schedule_->per_tile.size(); }

void MapProgram::run(std::span<const void* const> inputs, void* output, int64_t begin, int64_t end,
                     void* scratch) const {
  if (begin >= end) return;
  mapping::Run run(*schedule_, inputs, output, scratch);
  schedule_->by_rows ? run.rows(begin, end) : run.flat(begin, end);
}

MapProgram compile(const Scalar& e, const Dims& dims, std::span<const Dims> strides) {
  return MapProgram(
      std::make_shared<const mapping::Schedule>(mapping::make_schedule(mapping::lower(e), dims, strides)));
}

Dims broadcast_strides(const Dims& input, const Dims& dims) {
  ensure(input.size() <= dims.size(), "map: an input of rank {} for an output of rank {}", input.size(), dims.size());
  const Dims own = row_major_strides(input);
  const size_t offset = dims.size() - input.size();
  Dims strides(dims.size(), 0);
  for (size_t d = 0; d < input.size(); ++d) {
    ensure(input[d] == 1 || input[d] == dims[offset + d], "map: input {} for output {}", to_string(input),
           to_string(dims));
    if (input[d] != 1) strides[offset + d] = own[d];
  }
  return strides;
}

}  // namespace arbalest
