#include "onnx_import/attention.h"

#include <cmath>
#include <limits>

#include "graph/base/error.h"
#include "graph/element_index.h"

namespace arbalest {
namespace {

constexpr double kBlocked = -std::numeric_limits<double>::infinity();  // added to the score of a key

const Dim& last(const Value& x) { return x.shape().back(); }

int64_t known(const Dim& d, const char* what) {
  if (!d.is_constant()) throw Error(ErrorKind::unsupported, "{} has the open size {}", what, to_string(d));
  return d.value();
}

Value sum_of(const Value& a, const Value& b) { return a ? a + b : b; }

// All queries of one key head are rows of one product: [batch, key heads, rows, size of the last axis].
Value rows_of_key_heads(const Value& x, const Value& k) {
  const Shape& s = x.shape();
  const int64_t heads = known(s[1], "the number of heads"), key_heads = known(k.shape()[1], "the number of key heads");
  require(key_heads > 0 && heads % key_heads == 0, "{} query heads for {} key heads", heads, key_heads);
  return reshape(x, {s[0], key_heads, s[2] * (heads / key_heads), s[3]});
}

}  // namespace

Value split_heads(const Value& x, const Dim& heads) {
  require(x.rank() == 3, "a tensor of shape {}, expected batch, positions and channels", to_string(x.shape()));
  require(heads.value() > 0, "{} heads, expected at least 1", heads.value());
  const Shape& s = x.shape();
  const Dim size = floor_div(s[2], heads);
  require(size * heads == s[2] || !s[2].is_constant(), "{} channels cannot be divided into {} heads", to_string(s[2]),
          heads.value());
  return transpose(reshape(x, {s[0], s[1], heads, size}), {0, 2, 1, 3});
}

Value merge_heads(const Value& x) {
  const Shape& s = x.shape();
  return reshape(transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

void AttentionBias::allow(const Value& condition) {
  allowed_ = allowed_ ? map([](Scalar a, Scalar b) { return a && b; }, allowed_, condition) : condition;
}

void AttentionBias::add(const Value& mask) { added_ = sum_of(added_, mask); }

Value AttentionBias::value(DataType type) const {
  if (!allowed_) return added_ ? cast(added_, type) : Value();
  if (!added_) {
    return map([&](Scalar ok) { return select(ok, Scalar::constant(0.0, type), kBlocked); }, allowed_);
  }
  return map([](Scalar ok, Scalar x) { return select(ok, x, kBlocked); }, allowed_, cast(added_, type));
}

Value causal_condition(Builder& builder, const Dim& queries, const Dim& keys, const Value& offset) {
  const Value i = position_numbers(builder, queries, 0, 2), j = position_numbers(builder, keys, 1, 2);
  return map([](Scalar query, Scalar key, Scalar before) { return key <= query + before; }, i, j, offset);
}

Value attention_scores(const Value& q, const Value& k, const Value& v, double scale) {
  require(q.rank() == 4 && k.rank() == 4 && v.rank() == 4,
          "query, key and value have shapes {}, {} and {}, expected batch, heads, positions and channels",
          to_string(q.shape()), to_string(k.shape()), to_string(v.shape()));
  const Shape& s = q.shape();
  const Value grouped = rows_of_key_heads(scale == 1 ? q : q * scale, k);
  return reshape(matmul(grouped, k, false, true), {s[0], s[1], s[2], k.shape()[2]});
}

Value attention_values(const Value& probabilities, const Value& k, const Value& v) {
  const Shape& s = probabilities.shape();
  return reshape(matmul(rows_of_key_heads(probabilities, k), v), {s[0], s[1], s[2], v.shape()[3]});
}

Attended attend(const Value& q, const Value& k, const Value& v, const AttentionBias& bias, double scale,
                double softcap) {
  Attended a;
  a.scores = attention_scores(q, k, v, scale);
  a.capped = softcap == 0 ? a.scores : map([&](Scalar e) { return softcap * tanh(e / softcap); }, a.scores);
  Value added = bias.value(q.dtype());
  Value blocked;
  if (added && bias.may_block_rows()) {
    const Value greatest = reduce(Reduction::max, added, {added.rank() - 1}, Keep::yes);
    blocked = map([](Scalar m) { return Scalar::make(ScalarOp::is_inf, {m}) && m < 0; }, greatest);
    a.biased = map([](Scalar e, Scalar b) { return e + b; }, a.capped, added);
    added = map([](Scalar is_blocked, Scalar b) { return select(is_blocked, 0.0, b); }, blocked, added);
  }
  const Value logits = added ? a.capped + added : a.capped;
  if (!a.biased) a.biased = logits;
  require(logits.shape() == a.scores.shape(), "the mask of shape {} does not broadcast to the scores of shape {}",
          to_string(added ? added.shape() : Shape()), to_string(a.scores.shape()));
  a.probabilities = q.builder().emit_one(Softmax{3, false}, {logits});
  if (blocked) {
    a.probabilities =
        map([](Scalar is_blocked, Scalar p) { return select(is_blocked, 0.0, p); }, blocked, a.probabilities);
  }
  a.y = attention_values(a.probabilities, k, v);
  return a;
}

double attention_scale(OpContext& op, const Value& q) {
  const double given = op.attribute("scale", 0.0f);
  return given != 0 ? given : 1 / std::sqrt(static_cast<double>(known(last(q), "a head")));
}

Value rotate(const Value& x, const Value& cos, const Value& sin, bool interleaved) {
  const int axis = x.rank() - 1;
  const Dim pairs = last(cos), size = last(x);
  require(last(sin) == pairs, "{} cosines and {} sines", to_string(pairs), to_string(last(sin)));
  require(!pairs.is_constant() || !size.is_constant() || 2 * pairs.value() <= size.value(),
          "{} pairs to rotate in heads of {} channels", to_string(pairs), to_string(size));
  const Value a = interleaved ? slice(x, axis, 0, pairs, 2) : slice(x, axis, 0, pairs);
  const Value b = interleaved ? slice(x, axis, 1, pairs, 2) : slice(x, axis, pairs, pairs);
  const Value real = map([](Scalar u, Scalar v, Scalar c, Scalar s) { return c * u - s * v; }, a, b, cos, sin);
  const Value imaginary = map([](Scalar u, Scalar v, Scalar c, Scalar s) { return s * u + c * v; }, a, b, cos, sin);
  const Dim rotated = pairs + pairs;
  Value y;
  if (interleaved) {
    Shape pair = real.shape(), joined = real.shape();
    pair.push_back(1);
    joined.back() = rotated;
    y = reshape(concat({reshape(real, pair), reshape(imaginary, pair)}, axis + 1), joined);
  } else {
    y = concat({real, imaginary}, axis);
  }
  return rotated == size ? y : concat({y, slice(x, axis, rotated, size - rotated)}, axis);
}

}  // namespace arbalest
