// Attention of the domain com.microsoft, as the transformer optimiser of onnxruntime writes it.
#include "graph/base/error.h"
#include "graph/element_index.h"
#include "onnx_import/attention.h"

namespace arbalest {
namespace {

Value part_of_last_axis(const Value& x, const Dim& start, const Dim& count) {
  return slice(x, x.rank() - 1, start, count);
}

// Element i of an axis, without the axis.
Value element_of_axis(const Value& x, int axis, int64_t i) {
  Shape shape = x.shape();
  shape.erase(shape.begin() + axis);
  return reshape(slice(x, axis, i, 1), shape);
}

// Keys that count, as a condition on [batch, heads, queries, keys], from any of the forms of a mask.
Value mask_condition(OpContext& op, const Value& mask, const Dim& batch, const Dim& queries, const Dim& keys) {
  const Shape& s = mask.shape();
  const auto counts = [](Scalar m) { return !equal(m, 0); };
  if (mask.rank() == 1) {
    const Value j = position_numbers(op.builder(), keys, 3, 4);
    const Value numbers = cast(mask, DataType::i64);
    const auto column = [&](const Dim& start) { return reshape(slice(numbers, 0, start, batch), {batch, 1, 1, 1}); };
    if (s[0] == batch) return map([](Scalar key, Scalar end) { return key < end; }, j, column(0));
    if (s[0] == batch + batch) {
      return map([](Scalar key, Scalar end, Scalar start) { return start <= key && key < end; }, j, column(0),
                 column(batch));
    }
    throw Error(ErrorKind::unsupported, "a mask of {} numbers for a batch of {}", to_string(s[0]), to_string(batch));
  }
  if (mask.rank() == 2) return map(counts, reshape(mask, {s[0], 1, 1, s[1]}));
  if (mask.rank() == 3) return map(counts, reshape(mask, {s[0], 1, s[1], s[2]}));
  require(mask.rank() == 4, "the mask has shape {}", to_string(s));
  return map(counts, slice(slice(mask, 2, keys - queries, queries), 3, 0, keys));
}

struct MicrosoftAttention {
  Value q, k, v;    // heads
  int mask, added;  // inputs that hold the masks
};

Attended attended(OpContext& op, const MicrosoftAttention& m) {
  const Dim batch = m.q.shape()[0], queries = m.q.shape()[2], keys = m.k.shape()[2];
  AttentionBias bias;
  const double blocked = op.attribute("mask_filter_value", -10000.0f);
  if (op.has_input(m.mask)) {
    const Value counts = mask_condition(op, op.input(m.mask), batch, queries, keys);
    const DataType type = m.q.dtype();
    bias.add(map([&](Scalar ok) { return select(ok, Scalar::constant(0.0, type), blocked); }, counts));
  }
  if (op.has_input(m.added)) bias.add(op.input(m.added));
  if (op.attribute("unidirectional", 0) != 0) {
    const Value offset = op.builder().integers({keys - queries}, {});
    bias.allow(causal_condition(op.builder(), queries, keys, offset));
  }
  return attend(m.q, m.k, m.v, bias, attention_scale(op, m.q));
}

Dim head_count(OpContext& op) {
  const int64_t heads = op.required_integer("num_heads");
  require(heads > 0, "attribute 'num_heads' is {}, expected at least 1", heads);
  return heads;
}

void refuse(bool condition, const char* what) {
  if (condition) throw Error(ErrorKind::unsupported, "{}", what);
}

// Attention: queries, keys and values are products of one input with one matrix [channels, q + k + v]
Values joint_attention(OpContext& op) {
  const Value x = op.input(0), weights = op.input(1);
  const Dim heads = head_count(op);
  require(x.rank() == 3 && weights.rank() == 2, "input and weights have shapes {} and {}", to_string(x.shape()),
          to_string(weights.shape()));
  refuse(op.attribute("do_rotary", 0) != 0, "attribute 'do_rotary'");
  refuse(op.attribute("past_present_share_buffer", 0) != 0, "attribute 'past_present_share_buffer'");
  op.ignore_attribute("rotary_embedding_dim");
  const Dim third = floor_div(weights.shape()[1], 3);
  Shape sizes{third, third, third};
  const auto given = op.attribute("qkv_hidden_sizes", std::vector<int64_t>{});
  require(given.empty() || given.size() == 3, "attribute 'qkv_hidden_sizes' has {} entries, expected 3", given.size());
  if (!given.empty()) sizes = Shape(Dims(given));
  Value all = matmul(x, weights);
  if (op.has_input(2)) all = all + op.input(2);
  const auto part = [&](const Dim& start, size_t i) {
    return split_heads(part_of_last_axis(all, start, sizes[i]), heads);
  };
  MicrosoftAttention m{part(0, 0), part(sizes[0], 1), part(sizes[0] + sizes[1], 2), 3, 5};
  if (op.has_input(4)) {
    require(op.input(4).rank() == 5, "the past has shape {}", to_string(op.input(4).shape()));
    m.k = concat({element_of_axis(op.input(4), 0, 0), m.k}, 2);
    m.v = concat({element_of_axis(op.input(4), 0, 1), m.v}, 2);
  }
  const Value y = merge_heads(attended(op, m).y);
  if (!op.output_used(1)) return {y};
  const auto stacked = [](const Value& v) {
    Shape shape = v.shape();
    shape.insert(shape.begin(), Dim(1));
    return reshape(v, shape);
  };
  return {y, concat({stacked(m.k), stacked(m.v)}, 0)};
}

// The bias of the projections, [q + k + v], as part of heads or of channels.
Value plus_bias(const Value& x, const Value& bias, const Dim& start) {
  if (!bias) return x;
  const Dim& size = x.shape().back();
  return x + slice(bias, 0, start, size);
}

// [batch, positions, heads, parts, size]: queries, keys and values of a head beside each other
Value packed_part(const Value& x, int64_t i) {
  const Value part = element_of_axis(x, 3, i);
  const Shape& s = part.shape();
  return reshape(part, {s[0], s[1], s[2] * s[3]});
}

// MultiHeadAttention: projections are inputs, also packed (query of rank 5; key of rank 5) or as heads (key of rank 4)
Values multi_head_attention(OpContext& op) {
  const Dim heads = head_count(op);
  Value q = op.input(0), k = op.optional_input(1), v = op.optional_input(2);
  if (q.rank() == 5) {
    require(!k && !v, "a packed query beside a key or value");
    k = packed_part(q, 1), v = packed_part(q, 2), q = packed_part(q, 0);
  } else if (k && k.rank() == 5) {
    require(!v, "packed keys beside a value");
    v = packed_part(k, 1), k = packed_part(k, 0);
  }
  require(k && v && q.rank() == 3, "query, key and value are missing or of another rank than 3");
  const Value bias = op.optional_input(3);
  const Dim channels = q.shape()[2];
  const auto headed = [&](const Value& x, const Dim& start) {
    return x.rank() == 4 ? x : split_heads(plus_bias(x, bias, start), heads);
  };
  MicrosoftAttention m{headed(q, 0), headed(k, channels), headed(v, channels + channels), 4, 5};
  require(op.has_input(6) == op.has_input(7), "a past key without a past value, or the other way round");
  if (op.has_input(6)) {
    m.k = concat({op.input(6), m.k}, 2);
    m.v = concat({op.input(7), m.v}, 2);
  }
  return {merge_heads(attended(op, m).y), m.k, m.v};
}

// RotaryEmbedding: positions of each token, or of the first
Values microsoft_rotary_embedding(OpContext& op) {
  const Value x = op.input(0);
  const bool interleaved = op.attribute("interleaved", 0) != 0;
  const int64_t given_heads = op.attribute("num_heads", 0);
  refuse(op.attribute("is_packed_batching", 0) != 0, "attribute 'is_packed_batching'");
  op.ignore_attribute("scale");  // no kernel of onnxruntime reads it
  const int64_t rotated = op.attribute("rotary_embedding_dim", 0);
  require(rotated == 0 || given_heads > 0, "attribute 'rotary_embedding_dim' without 'num_heads'");
  require(x.rank() == 3 || x.rank() == 4, "the input has shape {}, expected 3 or 4 axes", to_string(x.shape()));
  const bool flat = x.rank() == 3;
  const Shape& s = x.shape();
  const Dim tokens = s[flat ? 1 : 2];
  Value positions = cast(op.input(1), DataType::i64);
  if (positions.shape().element_count() == Dim(1)) {
    positions = reshape(positions, {1, 1}) + position_numbers(op.builder(), tokens, 1, 2);
  }
  const auto table = [&](int input) {
    const Value rows = gather(op.input(input), positions, 0);
    require(rows.rank() == 3, "input {} has shape {}", input, to_string(op.input(input).shape()));
    const Shape& r = rows.shape();
    return reshape(rows, flat ? Shape{r[0], r[1], 1, r[2]} : Shape{r[0], 1, r[1], r[2]});
  };
  const Value cos = table(2), sin = table(3);
  const Dim pairs = cos.shape()[3];
  const Dim size = given_heads > 0 ? floor_div(s[2], given_heads) : pairs + pairs;
  const Value split = flat ? reshape(x, {s[0], s[1], floor_div(s[2], size), size}) : x;
  return {reshape(rotate(split, cos, sin, interleaved), s)};
}

}  // namespace

void register_microsoft_attention(Translator& t);
void register_microsoft_attention(Translator& t) {
  const std::string domain = "com.microsoft";
  t.add("Attention", {1}, joint_attention, domain);
  t.add("MultiHeadAttention", {1}, multi_head_attention, domain);
  t.add("RotaryEmbedding", {1}, microsoft_rotary_embedding, domain);
}

}  // namespace arbalest
