// Attention and rotary position embedding of the default domain.
#include "onnx_import/attention.h"

#include "graph/base/error.h"
#include "graph/element_index.h"

namespace arbalest {
namespace {

// Before version 25, 4-dimensional inputs may carry head counts too; they say nothing new.
Value heads_of(OpContext& op, int input, const char* attribute) {
  const int64_t heads = op.attribute(attribute, 0);
  const Value x = op.input(input);
  if (x.rank() == 4) return x;
  require(heads > 0, "attribute '{}' is {} for an input of shape {}", attribute, heads, to_string(x.shape()));
  return split_heads(x, heads);
}

// A mask that covers fewer keys than there are blocks the others.
Value padded_mask(const Value& mask, const Dim& keys) {
  require(mask.rank() >= 1, "the mask is a scalar");
  const Dim& covered = mask.shape().back();
  if (covered == keys || covered == Dim(1) || !covered.is_constant() || !keys.is_constant()) return mask;
  require(covered.value() < keys.value(), "the mask has shape {} for {} keys", to_string(mask.shape()),
          to_string(keys));
  const auto n = static_cast<size_t>(mask.rank());
  Pad p{std::vector<Dim>(n, Dim(0)), std::vector<Dim>(n, Dim(0)), 0};
  p.end.back() = keys - covered;
  if (is_float(mask.dtype())) p.value = -std::numeric_limits<double>::infinity();
  return mask.builder().emit_one(std::move(p), {mask});
}

// Attention-25: keys further than a number of positions before or behind the query are out of its window.
void add_window(OpContext& op, AttentionBias& bias, const Dim& queries, const Dim& keys, const Value& offset) {
  if (op.version() < 25) return;
  const int64_t before = op.attribute("left_window_size", -1), behind = op.attribute("right_window_size", -1);
  require(before >= -1 && behind >= -1, "a window of {} and {} positions, expected -1 or more", before, behind);
  if (before < 0 && behind < 0) return;
  const Value i = position_numbers(op.builder(), queries, 0, 2), j = position_numbers(op.builder(), keys, 1, 2);
  const auto distance = [](Scalar i, Scalar j, Scalar o) { return i + o - j; };
  if (before >= 0) {
    bias.allow(map([&](Scalar i, Scalar j, Scalar o) { return distance(i, j, o) <= static_cast<double>(before); }, i, j,
                   offset));
  }
  if (behind >= 0) {
    bias.allow(map([&](Scalar i, Scalar j, Scalar o) { return distance(i, j, o) >= -static_cast<double>(behind); }, i,
                   j, offset));
  }
  bias.blocks_rows();
}

struct KeyCache {
  Value offset;  // keys before the first query, for causal masks
  Value length;  // [batch, 1, 1, 1]: keys that count; none: all
};

KeyCache key_cache(OpContext& op, const Dim& queries, const Dim& past) {
  KeyCache cache;
  if (op.version() >= 24 && op.has_input(6)) {
    require(!op.has_input(4), "input 6 (the lengths of the keys) beside a past key");
    const Value lengths = cast(op.input(6), DataType::i64);
    cache.length = reshape(lengths, {lengths.shape().element_count(), 1, 1, 1});
    cache.offset = cache.length - op.builder().integers({queries}, {});
  } else {
    cache.offset = op.builder().integers({past}, {});
  }
  return cache;
}

// Attention-23, 24 (lengths of the keys as input 6), 25 (windows)
Values attention_of_heads(OpContext& op) {
  const Value q = heads_of(op, 0, "q_num_heads");
  Value k = heads_of(op, 1, "kv_num_heads"), v = heads_of(op, 2, "kv_num_heads");
  require(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, "query, key and value have shapes {}, {} and {}",
          to_string(q.shape()), to_string(k.shape()), to_string(v.shape()));
  Dim past(0);
  require(op.has_input(4) == op.has_input(5), "a past key without a past value, or the other way round");
  if (op.has_input(4)) {
    require(op.input(4).rank() == 4, "the past key has shape {}", to_string(op.input(4).shape()));
    past = op.input(4).shape()[2];
    k = concat({op.input(4), k}, 2);
    v = concat({op.input(5), v}, 2);
  }
  const Dim queries = q.shape()[2], keys = k.shape()[2];
  const KeyCache cache = key_cache(op, queries, past);
  AttentionBias bias;
  if (op.has_input(3)) {
    const Value mask = padded_mask(op.input(3), keys);
    mask.dtype() == DataType::boolean ? bias.allow(mask) : bias.add(mask);
    bias.blocks_rows();
  }
  if (op.attribute("is_causal", 0) != 0) bias.allow(causal_condition(op.builder(), queries, keys, cache.offset));
  add_window(op, bias, queries, keys, cache.offset);
  if (cache.length) {
    const Value j = position_numbers(op.builder(), keys, 3, 4);
    bias.allow(map([](Scalar key, Scalar count) { return key < count; }, j, cache.length));
    bias.blocks_rows();
  }
  op.ignore_attribute("softmax_precision");
  const int64_t mode = op.attribute("qk_matmul_output_mode", 0);
  require(0 <= mode && mode <= 3, "attribute 'qk_matmul_output_mode' is {}, expected 0 to 3", mode);
  const Attended a = attend(q, k, v, bias, attention_scale(op, q), op.attribute("softcap", 0.0f));
  const Value shown[] = {a.scores, a.capped, a.biased, a.probabilities};
  return {op.input(0).rank() == 4 ? a.y : merge_heads(a.y), k, v, shown[mode]};
}

// The rows of a table for each position of x, laid out beside its heads.
Value rotation_table(OpContext& op, int input, const Value& positions, bool heads_first) {
  const Value table = positions ? gather(op.input(input), positions, 0) : op.input(input);
  require(table.rank() == 3, "input {} has shape {} {} position numbers", input, to_string(op.input(input).shape()),
          positions ? "with" : "without");
  const Shape& s = table.shape();
  return reshape(table, heads_first ? Shape{s[0], 1, s[1], s[2]} : Shape{s[0], s[1], 1, s[2]});
}

// RotaryEmbedding-23
Values rotary_embedding(OpContext& op) {
  const Value x = op.input(0), positions = op.optional_input(3);
  const int64_t heads = op.attribute("num_heads", 0);
  const bool interleaved = op.attribute("interleaved", 0) != 0;
  const int64_t rotated = op.attribute("rotary_embedding_dim", 0);
  const bool flat = x.rank() == 3;
  require(flat || x.rank() == 4, "the input has shape {}, expected 3 or 4 axes", to_string(x.shape()));
  require(!flat || heads > 0, "attribute 'num_heads' is {} for an input of shape {}", heads, to_string(x.shape()));
  const Shape& s = x.shape();
  const Value split = flat ? reshape(x, {s[0], s[1], heads, floor_div(s[2], heads)}) : x;
  const Value cos = rotation_table(op, 1, positions, !flat), sin = rotation_table(op, 2, positions, !flat);
  const Dim expected = floor_div(rotated == 0 ? split.shape()[3] : Dim(rotated), 2);
  require(cos.shape()[3] == expected || !expected.is_constant(), "{} cosines for {} channels that rotate",
          to_string(cos.shape()[3]), to_string(expected + expected));
  return {reshape(rotate(split, cos, sin, interleaved), s)};
}

}  // namespace

void register_attention(Translator& t);
void register_attention(Translator& t) {
  t.add("Attention", {23, 24, 25}, attention_of_heads);
  t.add("RotaryEmbedding", {23}, rotary_embedding);
}

}  // namespace arbalest
