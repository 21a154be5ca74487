// Scaled dot-product attention, rotary position embedding and standardised rows in primitives: what ai.onnx and
// com.microsoft have in common.
//
// Heads are [batch, heads, positions, size]. Fewer key heads than query heads: query head h reads key head
// h / (heads / key heads) (grouped queries).
#pragma once

#include <optional>

#include "onnx_import/op_context.h"

namespace arbalest {

// [batch, positions, heads * size] -> [batch, heads, positions, size], and back.
Value split_heads(const Value& x, const Dim& heads);
Value merge_heads(const Value& x);

// Which keys a query may read, as a number to add to its scores: 0 or -infinity, or what a mask tensor holds.
class AttentionBias {
 public:
  void allow(const Value& condition);     // bool; all conditions must hold
  void add(const Value& mask);            // float
  void blocks_rows() { blocks_ = true; }  // a query may be left without any key: it reads zeros
  // Of the type of the scores; none where every key may be read.
  Value value(DataType type) const;
  bool may_block_rows() const { return blocks_; }

 private:
  Value allowed_, added_;
  bool blocks_ = false;
};

// Query i reads key j if j <= i + offset (an int64 tensor that broadcasts against [.., queries, keys]).
Value causal_condition(Builder& builder, const Dim& queries, const Dim& keys, const Value& offset);

// scale q k' as [batch, heads, queries, keys], and the values by their probabilities.
Value attention_scores(const Value& q, const Value& k, const Value& v, double scale);
Value attention_values(const Value& probabilities, const Value& k, const Value& v);

struct Attended {
  Value y;              // [batch, heads, queries, size of the values]
  Value scores;         // scale q k'
  Value capped;         // softcap * tanh(scores / softcap); the scores where there is no cap
  Value biased;         // with the bias added
  Value probabilities;  // softmax
};
Attended attend(const Value& q, const Value& k, const Value& v, const AttentionBias& bias, double scale,
                double softcap = 0);

// The scale where the file gives none: 1 / sqrt(size of a head).
double attention_scale(OpContext& op, const Value& q);

// Rotates pairs of the last axis of x: its halves, or neighbours if interleaved. cos and sin broadcast against x but
// for the last axis, which has as many elements as there are pairs; what lies behind the pairs stays.
Value rotate(const Value& x, const Value& cos, const Value& sin, bool interleaved);

}  // namespace arbalest
