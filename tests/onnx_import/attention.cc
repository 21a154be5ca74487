// Gradients of attention, rotary embedding, Einsum and Det; their values are checked by ONNX's node tests.
#include <gtest/gtest.h>

#include <limits>

#include "tests/onnx_import/operator_check.h"

namespace arbalest {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

TEST(OperatorGradient, Attention) {
  const Dims q{2, 4, 3, 2}, kv{2, 4, 5, 2}, shared{2, 2, 5, 2};
  const HostTensor mask = bool_tensor({3, 5}, {1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1});
  const OperatorCase cases[] = {
      {"plain", "Attention", 23, {q, kv, kv}, {}},
      {"other value size", "Attention", 23, {q, kv, Dims{2, 4, 5, 3}}, {{"scale", 0.3}}},
      {"flat",
       "Attention",
       23,
       {Dims{2, 3, 8}, Dims{2, 5, 8}, Dims{2, 5, 8}},
       {{"q_num_heads", 4}, {"kv_num_heads", 4}}},
      {"grouped queries", "Attention", 23, {q, shared, shared}, {}},
      {"causal with cap", "Attention", 23, {q, kv, kv}, {{"is_causal", 1}, {"softcap", 0.7}}},
      {"mask that leaves a query without keys", "Attention", 23, {q, kv, kv, mask}, {}},
      {"added mask", "Attention", 23, {q, kv, kv, Dims{2, 1, 3, 5}}, {{"is_causal", 1}}},
      {"short mask", "Attention", 23, {q, kv, kv, f64_tensor({1, 2}, {0.5, kMinusInfinity})}, {}},
      {"past", "Attention", 23, {q, kv, kv, LeftOut{}, Dims{2, 4, 2, 2}, Dims{2, 4, 2, 2}}, {{"is_causal", 1}}, 3},
      {"scores shown", "Attention", 23, {q, kv, kv, mask}, {{"softcap", 0.7}, {"qk_matmul_output_mode", 3}}, 4},
      {"lengths",
       "Attention",
       24,
       {q, kv, kv, LeftOut{}, LeftOut{}, LeftOut{}, i64_tensor({2}, {4, 2})},
       {{"is_causal", 1}}},
      {"window", "Attention", 25, {q, kv, kv}, {{"left_window_size", 1}, {"right_window_size", 1}}},
  };
  for (const OperatorCase& c : cases) check_gradient(c);
}

TEST(OperatorGradient, RotaryEmbedding) {
  const Dims heads{2, 2, 3, 6}, flat{2, 3, 12};
  const HostTensor positions = i64_tensor({2, 3}, {0, 1, 2, 2, 3, 1});
  const HostTensor table = f64_tensor({4, 2}, {1, 0.9, 0.8, 0.3, -0.2, 0.5, 0.1, -0.4});
  const HostTensor wide = f64_tensor({4, 3}, {1, 0.9, 0.8, 0.3, -0.2, 0.5, 0.1, -0.4, 0.2, 0.7, 0.6, -0.9});
  const OperatorCase cases[] = {
      {"halves", "RotaryEmbedding", 23, {heads, wide, wide, positions}, {}},
      {"neighbours", "RotaryEmbedding", 23, {flat, wide, wide, positions}, {{"num_heads", 2}, {"interleaved", 1}}},
      {"part", "RotaryEmbedding", 23, {flat, table, table, positions}, {{"num_heads", 2}, {"rotary_embedding_dim", 4}}},
  };
  for (const OperatorCase& c : cases) check_gradient(c);
}

TEST(OperatorGradient, Gates) { check_gradient({"gate", "SwiGLU", 28, {Dims{2, 3}, Dims{2, 3}}, {{"alpha", 1.3}}}); }

TEST(OperatorGradient, Einsum) {
  const auto row = [](const char* equation, std::vector<CheckedOperand> operands) {
    check_gradient({equation, "Einsum", 12, std::move(operands), {{"equation", equation}}});
  };
  row("ij,jk->ik", {Dims{2, 3}, Dims{3, 4}});
  row("ij,kj", {Dims{2, 3}, Dims{4, 3}});
  row("bij , bjk -> bki", {Dims{2, 3, 4}, Dims{2, 4, 5}});
  row("...ij,...jk->...ik", {Dims{2, 1, 3, 4}, Dims{5, 4, 2}});
  row("...i,...i", {Dims{2, 3, 4}, Dims{3, 4}});
  row("ii->i", {Dims{3, 3}});
  row("iji->j", {Dims{3, 2, 3}});
  row("ii", {Dims{3, 3}});
  row("i,j->ji", {Dims{3}, Dims{2}});
  row("abc,cd,de,ef->afb", {Dims{2, 3, 2}, Dims{2, 3}, Dims{3, 2}, Dims{2, 2}});
  row("bhqd,bhkd->bhqk", {Dims{2, 2, 3, 4}, Dims{2, 2, 5, 4}});
  row("ij->", {Dims{2, 3}});
  row("ij,ik->j", {Dims{2, 3}, Dims{2, 4}});
  row("ij,ij->ij", {Dims{2, 3}, Dims{1, 3}});
}

TEST(OperatorGradient, Det) {
  check_gradient({"one", "Det", 11, {Dims{1, 1}}, {}});
  check_gradient({"two", "Det", 11, {Dims{2, 2}}, {}});
  check_gradient({"batch of five", "Det", 22, {Dims{3, 2, 5, 5}}, {}});
}

}  // namespace
}  // namespace arbalest
