#include "exec/cpu/map/lowering.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "graph/base/error.h"
#include "graph/scalar_walk.h"

namespace arbalest::mapping {

namespace {

Format mask_of(Format f) { return lane_bytes(f) == 4 ? Format::mask32 : Format::mask64; }

// In which the lanes of a type are computed.
Format computed_format(DataType t) {
  switch (t) {
    case DataType::f32:
    case DataType::f16:
    case DataType::bf16:
      return Format::f32;
    case DataType::f64:
      return Format::f64;
    case DataType::u64:
      return Format::u64;
    case DataType::boolean:
      return Format::mask32;
    default:
      return Format::i64;
  }
}

uint64_t constant_bits(const Scalar& e, Format f) {
  switch (f) {
    case Format::f32:
      return std::bit_cast<uint32_t>(static_cast<float>(e.value()));
    case Format::f64:
      return std::bit_cast<uint64_t>(e.value());
    case Format::mask32:
    case Format::mask64:
      return e.integer_value() != 0 ? ~uint64_t{0} : 0;
    default:
      return static_cast<uint64_t>(e.integer_value());
  }
}

int bits_of(DataType t) { return static_cast<int>(size_of(t)) * 8; }

bool is_signed(DataType t) {
  return t == DataType::i8 || t == DataType::i16 || t == DataType::i32 || t == DataType::i64;
}

bool is_short_integer(DataType t) { return is_integer(t) && size_of(t) < 8; }

// Whether the low bits of the result depend only on the low bits of the operands.
bool needs_only_low_bits(ScalarOp op) {
  switch (op) {
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul:
    case ScalarOp::neg:
    case ScalarOp::bit_and:
    case ScalarOp::bit_or:
    case ScalarOp::bit_xor:
    case ScalarOp::bit_not:
      return true;
    default:
      return false;
  }
}

// Whether operands in the range of a short integer type may give a result outside.
bool may_overflow(ScalarOp op, DataType type) {
  switch (op) {
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul:
    case ScalarOp::neg:
    case ScalarOp::abs:
    case ScalarOp::div:
    case ScalarOp::pow:
    case ScalarOp::shift_left:
      return true;
    case ScalarOp::bit_not:
      return !is_signed(type);
    default:
      return false;
  }
}

class Lowering {
 public:
  explicit Lowering(const Scalar& e) {
    numbering_.number(e);
    uses_.assign(numbering_.count(), 0);
    for (size_t i = 0; i < numbering_.count(); ++i)
      for (const Scalar& o : numbering_.at(static_cast<int>(i)).operands()) ++uses_[index(o)];
    results_.assign(numbering_.count(), -1);
    for (size_t i = 0; i < numbering_.count(); ++i) {
      const Scalar& node = numbering_.at(static_cast<int>(i));
      if (!node.operands().empty()) results_[i] = lower(node);
    }
    store(e);
  }

  std::vector<Value> take() { return std::move(values_); }

 private:
  size_t index(const Scalar& e) const { return static_cast<size_t>(numbering_.find(e)); }

  int append(const Value& v) {
    values_.push_back(v);
    is_wrapped_.push_back(true);
    return static_cast<int>(values_.size()) - 1;
  }

  int call(Kernel kernel, Format format, std::initializer_list<int> operands, ScalarOp op = ScalarOp::constant) {
    ensure(kernel != nullptr, "map: no kernel for {} of format {}", name_of(op), static_cast<int>(format));
    Value v;
    v.format = format;
    v.kernel = kernel;
    v.op = op;
    v.operand_count = static_cast<int>(operands.size());
    std::copy(operands.begin(), operands.end(), v.operands.begin());
    return append(v);
  }

  int operation(ScalarOp op, Format format, std::initializer_list<int> operands) {
    const bool to_mask = op == ScalarOp::equal || op == ScalarOp::less || op == ScalarOp::less_equal ||
                         op == ScalarOp::is_nan || op == ScalarOp::is_inf;
    return call(operation_kernel(op, format), to_mask ? mask_of(format) : format, operands, op);
  }

  // The value in another format; each conversion happens once.
  int converted(int value, Format to) {
    const Format from = values_[static_cast<size_t>(value)].format;
    const auto class_of = [](Format f) { return f == Format::u64 ? Format::i64 : f; };
    if (class_of(from) == class_of(to)) return value;
    const auto [slot, is_new] = conversions_.try_emplace({value, to}, -1);
    if (!is_new) return slot->second;
    const int result = call(conversion_kernel(from, to), to, {value});
    return conversions_[{value, to}] = result;
  }

  int constant(uint64_t bits, Format format) {
    const auto [slot, is_new] = constants_.try_emplace({bits, format}, -1);
    if (is_new) {
      Value v;
      v.kind = Value::Kind::constant;
      v.format = format;
      v.bits = bits;
      slot->second = append(v);
    }
    return slot->second;
  }

  int integer(int64_t value) { return constant(static_cast<uint64_t>(value), Format::i64); }

  int input(const Scalar& e, Format format) {
    const Format stored = format_of(e.type());
    const auto [slot, is_new] = inputs_.try_emplace({e.input_index(), stored}, -1);
    if (is_new) {
      Value v;
      v.kind = Value::Kind::input;
      v.format = stored;
      v.input = e.input_index();
      slot->second = append(v);
    }
    return converted(slot->second, format);
  }

  // The lanes of a node in a format: that in which its type is computed, or for a boolean one of the masks. Short
  // integers may exceed their range.
  int raw(const Scalar& e, Format format) {
    if (e.is_constant()) return constant(constant_bits(e, format), format);
    if (e.op() == ScalarOp::input) return input(e, format);
    return converted(results_[index(e)], format);
  }

  int raw(const Scalar& e) { return raw(e, computed_format(e.type())); }

  // As above, in range.
  int exact(const Scalar& e) {
    const int value = raw(e);
    return is_short_integer(e.type()) ? wrapped(value, e.type()) : value;
  }

  bool is_wrapped(int value) const { return is_wrapped_[static_cast<size_t>(value)]; }

  int wrapped(int value, DataType type) {
    if (is_wrapped(value)) return value;
    const auto [slot, is_new] = wraps_.try_emplace({value, type}, -1);
    if (!is_new) return slot->second;
    const int64_t low_bits = (int64_t{1} << bits_of(type)) - 1;
    const int64_t sign = int64_t{1} << (bits_of(type) - 1);
    int result = operation(ScalarOp::bit_and, Format::i64, {value, integer(low_bits)});
    if (is_signed(type)) {  // (x ^ s) - s extends the sign
      result = operation(ScalarOp::bit_xor, Format::i64, {result, integer(sign)});
      result = operation(ScalarOp::sub, Format::i64, {result, integer(sign)});
    }
    return wraps_[{value, type}] = result;
  }

  // The mask that a boolean node is in already, if it is.
  bool is_in(const Scalar& e, Format mask) const {
    return !e.operands().empty() && values_[static_cast<size_t>(results_[index(e)])].format == mask;
  }

  Format mask_for(std::span<const Scalar> booleans) const {
    const bool all_wide = std::all_of(booleans.begin(), booleans.end(), [&](const Scalar& e) {
      return e.operands().empty() || is_in(e, Format::mask64);
    });
    const bool any_wide =
        std::any_of(booleans.begin(), booleans.end(), [&](const Scalar& e) { return is_in(e, Format::mask64); });
    return all_wide && any_wide ? Format::mask64 : Format::mask32;
  }

  int lower(const Scalar& e) {
    if (e.op() == ScalarOp::cast) return lower_cast(e.operands()[0], e.type());
    if (e.op() == ScalarOp::select) return lower_select(e);
    const DataType type = e.operands()[0].type();
    if (type == DataType::boolean) return lower_logic(e);
    if (const int fused = lower_fused(e); fused >= 0) return fused;
    const bool low_bits = needs_only_low_bits(e.op());
    const auto operand = [&](size_t i) { return low_bits ? raw(e.operands()[i]) : exact(e.operands()[i]); };
    const Format format = computed_format(type);
    const int a = operand(0), b = e.operands().size() == 2 ? operand(1) : a;
    const int result = e.operands().size() == 1 ? operation(e.op(), format, {a}) : operation(e.op(), format, {a, b});
    is_wrapped_[static_cast<size_t>(result)] = is_wrapped(a) && is_wrapped(b) && !may_overflow(e.op(), type);
    return result;
  }

  int lower_logic(const Scalar& e) {
    const Format format = mask_for(e.operands());
    if (e.operands().size() == 1) return operation_on_masks(e.op(), format, {raw(e.operands()[0], format)});
    return operation_on_masks(e.op(), format, {raw(e.operands()[0], format), raw(e.operands()[1], format)});
  }

  int operation_on_masks(ScalarOp op, Format format, std::initializer_list<int> operands) {
    return call(operation_kernel(op, format), format, operands, op);
  }

  int lower_select(const Scalar& e) {
    const Format format = e.type() == DataType::boolean ? mask_for(e.operands()) : computed_format(e.type());
    const auto branch = [&](size_t i) {
      return e.type() == DataType::boolean ? raw(e.operands()[i], format) : exact(e.operands()[i]);
    };
    const Scalar& condition = e.operands()[0];
    if (const Value* less = single_use(condition, ScalarOp::less); less && is_float(condition.operands()[0].type())) {
      const Format compared = computed_format(condition.operands()[0].type());
      const std::array<int, 4> operands = less->operands;
      if (compared == format)
        return call(fusion_kernel(Fusion::select_less, format), format,
                    {operands[0], operands[1], branch(1), branch(2)});
    }
    return call(operation_kernel(ScalarOp::select, format), format,
                {raw(condition, mask_of(format)), branch(1), branch(2)}, ScalarOp::select);
  }

  // The value of a node that is computed by `op` and read by nobody but its only user.
  const Value* single_use(const Scalar& e, ScalarOp op) const {
    if (e.op() != op || uses_[index(e)] != 1) return nullptr;
    const Value& v = values_[static_cast<size_t>(results_[index(e)])];
    return v.op == op ? &v : nullptr;
  }

  int lower_fused(const Scalar& e) {
    const Format format = computed_format(e.type());
    if (format != Format::f32 && format != Format::f64) return -1;
    const auto fuse = [&](Fusion fusion, std::initializer_list<int> operands) {
      const int result = call(fusion_kernel(fusion, format), format, operands);
      if (fusion == Fusion::mul_add) products_plus_.push_back(result);
      return result;
    };
    const auto factors = [&](size_t i) -> std::array<int, 2> {
      const Value* product = single_use(e.operands()[i], ScalarOp::mul);
      return product ? std::array<int, 2>{product->operands[0], product->operands[1]} : std::array<int, 2>{-1, -1};
    };
    if (e.op() == ScalarOp::relu) return lower_relu(e, format);
    if (e.op() == ScalarOp::add) {
      for (const size_t i : {0, 1})
        if (const auto [a, b] = factors(i); a >= 0) return fuse(Fusion::mul_add, {a, b, raw(e.operands()[1 - i])});
    } else if (e.op() == ScalarOp::sub) {
      if (const auto [a, b] = factors(0); a >= 0) return fuse(Fusion::mul_sub, {a, b, raw(e.operands()[1])});
      if (const auto [a, b] = factors(1); a >= 0) return fuse(Fusion::neg_mul_add, {a, b, raw(e.operands()[0])});
    } else if (e.op() == ScalarOp::mul) {
      for (const size_t i : {0, 1}) {
        const Value* difference = single_use(e.operands()[i], ScalarOp::sub);
        if (!difference) continue;
        const int a = difference->operands[0], b = difference->operands[1];
        return fuse(Fusion::sub_mul, {a, b, raw(e.operands()[1 - i])});
      }
    }
    return -1;
  }

  int lower_relu(const Scalar& e, Format format) {
    const Scalar& x = e.operands()[0];
    if (const Value* sum = single_use(x, ScalarOp::add)) {
      const int a = sum->operands[0], b = sum->operands[1];
      return call(fusion_kernel(Fusion::add_relu, format), format, {a, b});
    }
    if (x.op() != ScalarOp::add || uses_[index(x)] != 1) return -1;
    const int value = results_[index(x)];
    if (std::find(products_plus_.begin(), products_plus_.end(), value) == products_plus_.end()) return -1;
    const auto operands = values_[static_cast<size_t>(value)].operands;
    return call(fusion_kernel(Fusion::mul_add_relu, format), format, {operands[0], operands[1], operands[2]});
  }

  int lower_cast(const Scalar& x, DataType to) {
    const DataType from = x.type();
    const Format target = computed_format(to);
    if (from == DataType::boolean) return converted(raw(x, mask_of(target)), target);
    if (to == DataType::boolean) {
      const Format format = computed_format(from);
      return converted(exact(x), mask_of(format));
    }
    if (is_integer(from) && is_integer(to)) return cast_integer(x, to);
    if (is_float(from) && is_integer(to)) return saturated(raw(x), to);
    if (to == DataType::f16 || to == DataType::bf16) return rounded(exact(x), to);
    // A short integer of an input goes straight to f32.
    if (x.op() == ScalarOp::input && target == Format::f32 && from != DataType::boolean) return input(x, target);
    return converted(exact(x), target);
  }

  // A copy in the format of the new type, so that later conversions know whether it is signed.
  int cast_integer(const Scalar& x, DataType to) {
    const DataType from = x.type();
    const bool longer = bits_of(to) > bits_of(from);
    const int result = call(copy_kernel(Format::i64), computed_format(to), {longer ? exact(x) : raw(x)});
    const bool fits = longer && (!is_signed(from) || is_signed(to));
    is_wrapped_[static_cast<size_t>(result)] = fits || !is_short_integer(to);
    return result;
  }

  int saturated(int value, DataType to) {
    if (to == DataType::u64) return converted(value, Format::u64);
    const int whole = converted(value, Format::i64);
    if (to == DataType::i64) return whole;
    const int64_t high = (int64_t{1} << (bits_of(to) - (is_signed(to) ? 1 : 0))) - 1;
    const int64_t low = is_signed(to) ? -high - 1 : 0;
    const int above = operation(ScalarOp::max, Format::i64, {whole, integer(low)});
    return operation(ScalarOp::min, Format::i64, {above, integer(high)});
  }

  // To the precision of a 16-bit float and back to f32.
  int rounded(int value, DataType to) {
    const Format from = values_[static_cast<size_t>(value)].format;
    if (from == Format::i64 || from == Format::u64) value = converted(value, Format::f64);
    return converted(converted(value, format_of(to)), Format::f32);
  }

  void store(const Scalar& e) {
    const Format stored = format_of(e.type());
    if (e.op() == ScalarOp::input) return remove_dead(input(e, stored));
    int value = raw(e);
    if (e.type() == DataType::boolean && !e.operands().empty()) value = results_[index(e)];
    const Value& v = values_[static_cast<size_t>(value)];
    if (v.format != stored && !(lane_bytes(v.format) == 8 && lane_bytes(stored) == 8)) {
      // A value that was rounded to the type stored is stored as it was before the way back.
      const bool came_from_stored = v.kind == Value::Kind::result && v.operand_count == 1 &&
                                    values_[static_cast<size_t>(v.operands[0])].format == stored;
      value = came_from_stored ? v.operands[0] : converted(value, stored);
    }
    remove_dead(value);
  }

  // Keeps what the result needs; the result becomes the last value and is written by a kernel.
  void remove_dead(int result) {
    if (values_[static_cast<size_t>(result)].kind != Value::Kind::result) {
      const Format format = values_[static_cast<size_t>(result)].format;
      result = call(copy_kernel(format), format, {result});
    }
    values_.resize(static_cast<size_t>(result) + 1);
    std::vector<char> alive(values_.size(), 0);
    alive.back() = 1;
    for (size_t i = values_.size(); i-- > 0;)
      for (int k = 0; alive[i] && k < values_[i].operand_count; ++k)
        alive[static_cast<size_t>(values_[i].operands[static_cast<size_t>(k)])] = 1;
    std::vector<int> renumbered(values_.size(), -1);
    std::vector<Value> kept;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!alive[i]) continue;
      renumbered[i] = static_cast<int>(kept.size());
      kept.push_back(values_[i]);
      for (int k = 0; k < kept.back().operand_count; ++k) {
        int& operand = kept.back().operands[static_cast<size_t>(k)];
        operand = renumbered[static_cast<size_t>(operand)];
      }
    }
    values_ = std::move(kept);
  }

  ScalarNumbering numbering_;
  std::vector<int> uses_;     // of a node, by nodes
  std::vector<int> results_;  // value of a node that is neither input nor constant
  std::vector<Value> values_;
  std::vector<bool> is_wrapped_;    // of a value of a short integer type: within the range of the type
  std::vector<int> products_plus_;  // fused a * b + c
  std::map<std::pair<int, Format>, int> conversions_;
  std::map<std::pair<uint64_t, Format>, int> constants_;
  std::map<std::pair<int, Format>, int> inputs_;
  std::map<std::pair<int, DataType>, int> wraps_;
};

}  // namespace

std::vector<Value> lower(const Scalar& e) { return Lowering(e).take(); }

}  // namespace arbalest::mapping
