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
  op.ignore_attribute("softmax_precision");  // float32 is what 16-bit floats are computed in; float64 stays
  const Value scores = modified(op, "score_mod", attention_scores(q, k, v, attention_scale(op, q)));
  const Value probabilities = modified(op, "prob_mod", op.builder().emit_one(Softmax{3, false}, {scores}));
  return {attention_values(probabilities, k, v)};
}

}  // namespace

void register_flex_attention(Translator& t);
void register_flex_attention(Translator& t) { t.add("FlexAttention", {1}, flex_attention, "ai.onnx.preview"); }

}  // namespace arbalest
