// Attention with a state in place of keys and values, and the short convolution that models of its kind have before it.
#include <cmath>

#include "graph/base/error.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

Value zeros(OpContext& op, const Shape& shape, DataType type) { return expand(op.builder().scalar(0, type), shape); }

// ---- CausalConvWithState-27

Values causal_conv_with_state(OpContext& op) {
  const Value x = op.input(0), weight = op.input(1), bias = op.optional_input(2);
  require(x.rank() == 3 && weight.rank() == 3, "input and weight have shapes {} and {}, expected rank 3",
          to_string(x.shape()), to_string(weight.shape()));
  const Dim &channels = weight.shape()[0], &kernel = weight.shape()[2];
  if (!channels.is_constant() || !kernel.is_constant())
    throw Error(ErrorKind::unsupported, "the weight has the open shape {}", to_string(weight.shape()));
  require(kernel.value() >= 1, "the kernel is empty");
  const Dim kept = kernel - 1;
  const Value past = op.has_input(3) ? op.input(3) : zeros(op, {x.shape()[0], channels, kept}, x.dtype());
  const Value all = kept == Dim(0) ? x : concat({past, x}, 2);
  Values inputs{all, weight};
  if (bias) inputs.push_back(bias);
  Value y = op.builder().emit_one(Conv{{{1}, {1}, {0}, {0}}, channels.value(), static_cast<bool>(bias)}, inputs);
  const std::string activation = op.attribute("activation", "none");
  if (activation == "silu" || activation == "swish") {
    y = map([](Scalar e) { return e * sigmoid(e); }, y);
  } else {
    require(activation == "none", "attribute 'activation' is '{}', expected 'none', 'silu' or 'swish'", activation);
  }
  return {y, slice(all, 2, all.shape()[2] - kept, kept)};
}

// ---- LinearAttention-27, unrolled over the steps

struct LinearAttention {
  Dim batch, queries_a_head, key_size, value_size;
  int64_t steps, heads;   // heads of keys and values
  bool decays, corrects;  // the update rule
  float scale;
};

LinearAttention linear_attention_of(OpContext& op) {
  const Value q = op.input(0), k = op.input(1), v = op.input(2);
  for (const Value& x : {q, k, v})
    require(x.rank() == 3, "an input has shape {}, expected rank 3", to_string(x.shape()));
  const int64_t query_heads = op.required_integer("q_num_heads"), heads = op.required_integer("kv_num_heads");
  require(heads >= 1 && query_heads >= heads && query_heads % heads == 0,
          "{} query heads for {} heads of keys and values, expected a multiple", query_heads, heads);
  LinearAttention a;
  a.batch = q.shape()[0];
  a.heads = heads;
  a.queries_a_head = query_heads / heads;
  a.key_size = floor_div(q.shape()[2], query_heads);
  a.value_size = floor_div(v.shape()[2], heads);
  a.steps = unrolled_steps(q.shape()[1]);
  if (!a.key_size.is_constant())
    throw Error(ErrorKind::unsupported, "the sizes of heads must be known, the queries are {}", to_string(q.shape()));
  const std::string rule = op.attribute("update_rule", "gated_delta");
  require(rule == "linear" || rule == "gated" || rule == "delta" || rule == "gated_delta",
          "attribute 'update_rule' is '{}', expected 'linear', 'gated', 'delta' or 'gated_delta'", rule);
  a.decays = rule.starts_with("gated");
  a.corrects = rule.ends_with("delta");
  a.scale = op.attribute("scale", 0.0f);
  if (a.scale == 0) a.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(a.key_size.value())));
  op.ignore_attribute("chunk_size");
  return a;
}

// [batch, steps, heads * n] at step t as [batch, heads, ...]
Value at_step(const Value& x, int64_t t, const Shape& shape) { return reshape(slice(x, 1, t, 1), shape); }

Values linear_attention(OpContext& op) {
  const LinearAttention a = linear_attention_of(op);
  const Value q = op.input(0), k = op.input(1), v = op.input(2);
  const Value decay = op.optional_input(4), rate = op.optional_input(5);
  require(!a.decays || decay, "the decay (input 4) is missing");
  require(!a.corrects || rate, "the update rate (input 5) is missing");
  Value state = op.has_input(3) ? op.input(3) : zeros(op, {a.batch, a.heads, a.key_size, a.value_size}, v.dtype());
  Values outputs;
  for (int64_t t = 0; t < a.steps; ++t) {
    const Value key = at_step(k, t, {a.batch, a.heads, a.key_size, 1});
    Value value = at_step(v, t, {a.batch, a.heads, 1, a.value_size});
    if (a.decays) {
      const Dim entries = floor_div(decay.shape()[2], a.heads);  // one a head, or one an entry of the key
      state = state * exp(at_step(decay, t, {a.batch, a.heads, entries, 1}));
    }
    if (a.corrects) {
      const Value step_rate = at_step(rate, t, {a.batch, rate.shape()[2], 1, 1});
      value = step_rate * (value - matmul(key, state, /*transpose_a=*/true));
    }
    state = state + key * value;
    const Value query = at_step(q, t, {a.batch, a.heads, a.queries_a_head, a.key_size});
    const Value y = matmul(query, state) * static_cast<double>(a.scale);
    outputs.push_back(reshape(y, {a.batch, 1, a.queries_a_head * a.heads * a.value_size}));
  }
  require(!outputs.empty(), "no steps");
  return {concat(outputs, 1), state};
}

}  // namespace

void register_linear_attention(Translator& t);
void register_linear_attention(Translator& t) {
  t.add("CausalConvWithState", {27}, causal_conv_with_state);
  t.add("LinearAttention", {27}, linear_attention);
}

}  // namespace arbalest
