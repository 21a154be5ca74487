// FlexAttention-1 of ai.onnx.preview: attention whose scores and probabilities subgraphs may change.
#include "graph/base/error.h"
#include "onnx_import/attention.h"

namespace arbalest {
namespace {

// What the subgraph of an attribute makes of a tensor; the tensor itself where there is none.
Value modified(OpContext& op, const std::string& attribute, const Value& x) {
  if (!op.has_attribute(attribute)) return x;
  const std::vector<Item> results = op.subgraph(attribute, {x}, {});
  require(results.size() == 1 && results[0].tensor && results[0].tensor.shape() == x.shape(),
          "{} must give one tensor of shape {}", attribute, to_string(x.shape()));
  return results[0].tensor;
}

Values flex_attention(OpContext& op) {
  const Value q = op.input(0), k = op.input(1), v = op.input(2);
  require(q.rank() == 4 && k.rank() == 4 && v.rank() == 4,
          "query, key and value have shapes {}, {} and {}, expected four axes", to_string(q.shape()),
          to_string(k.shape()), to_string(v.shape()));
  op.ignore_attribute("softmax_precision");  // float32 is what 16-bit floats are computed in; float64 stays
  const Shape& s = q.shape();
  const Dim heads = s[1], key_heads = k.shape()[1], keys = k.shape()[2];
  require(
      heads.is_constant() && key_heads.is_constant() && key_heads.value() > 0 && heads.value() % key_heads.value() == 0,
      "{} query heads for {} key heads", to_string(heads), to_string(key_heads));
  const Dim rows = s[2] * (heads.value() / key_heads.value());
  const Value grouped = reshape(q * attention_scale(op, q), {s[0], key_heads, rows, s[3]});
  const Value scores = modified(op, "score_mod", reshape(matmul(grouped, k, false, true), {s[0], heads, s[2], keys}));
  const Value probabilities = modified(op, "prob_mod", op.builder().emit_one(Softmax{3, false}, {scores}));
  const Value y = matmul(reshape(probabilities, {s[0], key_heads, rows, keys}), v);
  return {reshape(y, {s[0], heads, s[2], v.shape()[3]})};
}

}  // namespace

void register_flex_attention(Translator& t);
void register_flex_attention(Translator& t) { t.add("FlexAttention", {1}, flex_attention, "ai.onnx.preview"); }

}  // namespace arbalest
