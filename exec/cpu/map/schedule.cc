#include "exec/cpu/map/schedule.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "graph/base/error.h"

namespace arbalest::mapping {

namespace {

constexpr int64_t kMaxTile = 2048;
constexpr int64_t kMinTile = 256;
constexpr int64_t kTileBytes = 16384;  // of all registers together: half of a first-level cache
constexpr int64_t kMaxPeriod = 1024;
constexpr int64_t kMinRow = 128;  // shorter rows are gathered into tiles
constexpr size_t kTilePadding = 128;

// How often a value changes.
enum class Variation : uint8_t { never, periodic, row, element };

Variation join(Variation a, Variation b) { return std::max(a, b); }  // periodic and row never meet

Variation variation_of(Access a) {
  switch (a) {
    case Access::scalar:
      return Variation::never;
    case Access::periodic:
      return Variation::periodic;
    case Access::row:
      return Variation::row;
    default:
      return Variation::element;
  }
}

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }
int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

class Scheduler {
 public:
  Scheduler(std::vector<Value> values, const Dims& dims, std::span<const Dims> strides) : values_(std::move(values)) {
    collapse(dims, strides);
    find_inputs(strides);
    classify();
    find_variations();
    place_constants();
    place_inputs();
    emit();
    choose_tile();
    place_scratch();
  }

  Schedule take() { return std::move(s_); }

 private:
  size_t last_axis() const { return s_.dims.size() - 1; }

  // Merges neighbouring axes that every input walks through evenly, and drops axes of size 1.
  void collapse(const Dims& dims, std::span<const Dims> strides) {
    s_.count = element_count(dims);
    collapsed_.resize(strides.size());
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] == 1) continue;
      bool mergeable = !s_.dims.empty();
      for (size_t i = 0; i < strides.size(); ++i)
        mergeable = mergeable && collapsed_[i].back() == strides[i][d] * dims[d];
      if (mergeable) s_.dims.back() *= dims[d];
      if (!mergeable) s_.dims.push_back(dims[d]);
      for (size_t i = 0; i < strides.size(); ++i) {
        if (mergeable) collapsed_[i].pop_back();
        collapsed_[i].push_back(strides[i][d]);
      }
    }
    if (s_.dims.empty() || s_.count == 0) {
      s_.dims = {s_.count};
      collapsed_.assign(strides.size(), {0});
    }
    s_.inner_sizes = row_major_strides(s_.dims);
  }

  void find_inputs(std::span<const Dims> strides) {
    for (size_t v = 0; v < values_.size(); ++v) {
      if (values_[v].kind != Value::Kind::input) continue;
      const auto i = static_cast<size_t>(values_[v].input);
      ensure(i < strides.size(), "map: input {} of {}", i, strides.size());
      Input input;
      input.index = static_cast<int>(i);
      input.element_bytes = lane_bytes(values_[v].format);
      input.strides = collapsed_[i];
      input_of_value_.resize(values_.size(), -1);
      input_of_value_[v] = static_cast<int>(s_.inputs.size());
      s_.inputs.push_back(std::move(input));
    }
    input_of_value_.resize(values_.size(), -1);
  }

  // Elements after which the input repeats; the whole count if it does not.
  int64_t period(const Input& input) const {
    for (size_t d = 0; d < s_.dims.size(); ++d)
      if (input.strides[d] != 0) return s_.inner_sizes[d] * s_.dims[d];
    return 1;
  }

  void classify() {
    period_ = 1;
    for (Input& input : s_.inputs) {
      const int64_t p = period(input);
      if (p == 1)
        input.access = Access::scalar;
      else if (input.strides == s_.inner_sizes)
        input.access = Access::direct;
      else if (p < s_.count && p <= kMaxPeriod)
        input.access = Access::periodic;
      else
        input.access = Access::expanded;
      if (input.access == Access::periodic) period_ = std::max(period_, p);  // periods divide each other
    }
    const bool all_cheap = std::none_of(s_.inputs.begin(), s_.inputs.end(),
                                        [](const Input& input) { return input.access == Access::expanded; });
    s_.by_rows = !all_cheap && s_.dims.back() >= kMinRow;
    if (!s_.by_rows) return;
    period_ = 1;
    for (Input& input : s_.inputs) {
      if (input.access == Access::scalar) continue;
      const int64_t stride = input.strides[last_axis()];
      input.access = stride == 0 ? Access::row : stride == 1 ? Access::direct : Access::expanded;
    }
  }

  void find_variations() {
    const auto variation = [&](size_t v) {
      Variation result = Variation::never;
      if (input_of_value_[v] >= 0) result = variation_of(s_.inputs[static_cast<size_t>(input_of_value_[v])].access);
      for (int k = 0; k < values_[v].operand_count; ++k)
        result = join(result, variations_[static_cast<size_t>(values_[v].operands[static_cast<size_t>(k)])]);
      return result;
    };
    for (size_t v = 0; v < values_.size(); ++v) variations_.push_back(variation(v));
    if (variations_.back() == Variation::element) return;
    // The output is written element by element all the same.
    Value copy;
    copy.format = values_.back().format;
    copy.kernel = copy_kernel(copy.format);
    copy.operands[0] = static_cast<int>(values_.size()) - 1;
    copy.operand_count = 1;
    values_.push_back(copy);
    variations_.push_back(Variation::element);
    input_of_value_.push_back(-1);
  }

  int new_slot() { return s_.slot_count++; }

  void place_constants() {
    slots_.assign(values_.size(), -1);
    for (size_t v = 0; v < values_.size(); ++v) {
      if (values_[v].kind != Value::Kind::constant) continue;
      slots_[v] = new_slot();
      const size_t lane = lane_bytes(values_[v].format);
      std::array<std::byte, kSplatBytes> splat = {};
      for (size_t i = 0; i < kSplatLanes; ++i) std::memcpy(splat.data() + i * lane, &values_[v].bits, lane);
      s_.constants.insert(s_.constants.end(), splat.begin(), splat.end());
    }
    s_.constant_count = s_.slot_count;
  }

  void place_inputs() {
    for (size_t v = 0; v < values_.size(); ++v) {
      if (input_of_value_[v] < 0) continue;
      Input& input = s_.inputs[static_cast<size_t>(input_of_value_[v])];
      slots_[v] = input.slot = new_slot();
      if (input.access == Access::scalar || input.access == Access::row) splats_.push_back(input.slot);
      if (input.access == Access::periodic) repeating_.push_back({input.slot, input.element_bytes});
      if (input.access == Access::expanded) tiles_.push_back(input.slot);
      if (input.access == Access::expanded) widest_ = std::max(widest_, input.element_bytes);
    }
  }

  bool is_splat(int value) const {
    const Variation v = variations_[static_cast<size_t>(value)];
    return v == Variation::never || v == Variation::row;
  }

  void emit() {
    const std::vector<size_t> last_use = find_last_uses();
    s_.output_slot = new_slot();
    s_.output_bytes = lane_bytes(values_.back().format);
    for (size_t v = 0; v < values_.size(); ++v) {
      if (values_[v].kind != Value::Kind::result) continue;
      slots_[v] = v + 1 == values_.size() ? s_.output_slot : result_slot(v, last_use);
      list_of(variations_[v]).push_back(instruction(v));
    }
  }

  std::vector<Instruction>& list_of(Variation v) {
    switch (v) {
      case Variation::never:
        return s_.once_splat;
      case Variation::periodic:
        return s_.once_tile;
      case Variation::row:
        return s_.per_row;
      default:
        return s_.per_tile;
    }
  }

  std::vector<size_t> find_last_uses() const {
    std::vector<size_t> last(values_.size(), 0);
    for (size_t v = 0; v < values_.size(); ++v)
      for (int k = 0; k < values_[v].operand_count; ++k)
        last[static_cast<size_t>(values_[v].operands[static_cast<size_t>(k)])] = v;
    return last;
  }

  // Registers that change with each tile are used again after the last reader of a value. A result may take the place
  // of an operand that dies with it only if the lanes are equally wide.
  int result_slot(size_t v, const std::vector<size_t>& last_use) {
    const size_t lane = lane_bytes(values_[v].format);
    if (is_splat(static_cast<int>(v))) {
      splats_.push_back(new_slot());
      return splats_.back();
    }
    if (variations_[v] == Variation::periodic) {
      repeating_.push_back({new_slot(), lane});
      return repeating_.back().slot;
    }
    widest_ = std::max(widest_, lane);
    std::vector<int> dying;
    bool same_width = true;
    for (int k = 0; k < values_[v].operand_count; ++k) {
      const auto operand = static_cast<size_t>(values_[v].operands[static_cast<size_t>(k)]);
      const bool is_register =
          values_[operand].kind == Value::Kind::result && variations_[operand] == Variation::element;
      if (!is_register || last_use[operand] != v) continue;
      if (std::find(dying.begin(), dying.end(), slots_[operand]) == dying.end()) dying.push_back(slots_[operand]);
      same_width = same_width && lane_bytes(values_[operand].format) == lane;
    }
    if (same_width) free_.insert(free_.end(), dying.begin(), dying.end());
    if (free_.empty()) {
      free_.push_back(new_slot());
      tiles_.push_back(free_.back());
    }
    const int slot = free_.back();
    free_.pop_back();
    if (!same_width) free_.insert(free_.end(), dying.begin(), dying.end());
    return slot;
  }

  Instruction instruction(size_t v) const {
    Instruction i;
    i.call = {nullptr, {}, {1, 1, 1, 1}, 0, values_[v].op};
    i.kernel = values_[v].kernel;
    i.out = slots_[v];
    for (int k = 0; k < values_[v].operand_count; ++k) {
      const int operand = values_[v].operands[static_cast<size_t>(k)];
      i.in[static_cast<size_t>(k)] = slots_[static_cast<size_t>(operand)];
      i.call.step[static_cast<size_t>(k)] = is_splat(operand) ? 0 : 1;
    }
    return i;
  }

  void choose_tile() {
    const auto registers = static_cast<int64_t>(tiles_.size() + repeating_.size());
    const auto width = static_cast<int64_t>(std::max<size_t>(widest_, 4));
    int64_t tile = std::clamp(kTileBytes / (std::max<int64_t>(registers, 1) * width), kMinTile, kMaxTile);
    tile = tile / 64 * 64;
    if (period_ > 1) {
      const int64_t whole_vectors = std::lcm(period_, int64_t{32});
      const int64_t unit = whole_vectors <= tile ? whole_vectors : period_;
      tile = std::max(tile / unit, int64_t{1}) * unit;
    }
    s_.tile = std::min(tile, round_up(std::max<int64_t>(s_.count, 1), std::max(period_, int64_t{64})));
    if (period_ > 1) s_.tile = std::max(s_.tile / period_, int64_t{1}) * period_;
  }

  void place_scratch() {
    size_t bytes = round_up(static_cast<size_t>(s_.slot_count) * sizeof(void*), size_t{64});
    s_.row_offsets = bytes;
    bytes += round_up(s_.inputs.size() * sizeof(int64_t), size_t{64});
    const auto place = [&](int slot, size_t size, size_t repeating_lane) {
      s_.scratch.push_back({slot, bytes, repeating_lane});
      bytes += round_up(size, size_t{64});
    };
    const auto tile = static_cast<size_t>(s_.tile);
    for (const int slot : splats_) place(slot, kSplatBytes, 0);
    for (const auto& r : repeating_) place(r.slot, tile * r.lane + kTilePadding, r.lane);
    for (const int slot : tiles_) place(slot, tile * widest_ + kTilePadding, 0);
    s_.scratch_bytes = bytes;
  }

  struct Repeating {
    int slot;
    size_t lane;
  };

  Schedule s_;
  std::vector<Value> values_;
  std::vector<Dims> collapsed_;  // strides of each input
  std::vector<int> input_of_value_;
  std::vector<Variation> variations_;
  std::vector<int> slots_;
  std::vector<int> splats_, tiles_, free_;
  std::vector<Repeating> repeating_;
  size_t widest_ = 0;  // lanes of the registers
  int64_t period_ = 1;
};

}  // namespace

Schedule make_schedule(std::vector<Value> values, const Dims& dims, std::span<const Dims> strides) {
  for (const Dims& s : strides)
    ensure(s.size() == dims.size(), "map: strides of rank {}, got {}", dims.size(), s.size());
  return Scheduler(std::move(values), dims, strides).take();
}

}  // namespace arbalest::mapping
