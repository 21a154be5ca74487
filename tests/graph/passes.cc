// Each pass on small graphs, before and after as text; and its time on large ones.

#include "graph/passes/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "graph/differentiate.h"
#include "graph/print.h"
#include "tests/graph/small_graphs.h"

namespace arbalest {
namespace {

using Pass = std::function<void(Graph&)>;

// The text after the pass, without what it left unused.
std::string after(Graph& graph, const Pass& pass) {
  pass(graph);
  verify(graph);
  drop_dead_nodes(graph);
  verify(graph);
  return to_text(graph);
}

// The nodes and outputs only.
std::string body_after(Graph& graph, const Pass& pass) {
  std::string text = after(graph, pass);
  for (size_t lines = graph.inputs.size(); lines > 0; --lines) text.erase(0, text.find('\n') + 1);
  return text;
}

class PassTest : public testing::Test {
 protected:
  Graph graph;
  Builder b{graph};
  Value x = data(b, "x", f32({N, 3}));
};

TEST_F(PassTest, DropsDeadNodes) {
  const Value y = exp(x);
  log(exp(y));
  b.add_output("y", -y);
  log(x);
  EXPECT_EQ(body_after(graph, drop_dead_nodes), R"(%0 = Map(%x) {expression exp(x0)} : float32 N x 3
%1 = Map(%0) {expression -x0} : float32 N x 3
output y = %1
)");
  EXPECT_FALSE(graph.values.back().producer);
}

TEST_F(PassTest, KeepsWhatOnlyARootNeeds) {
  const Value w = parameter(b, "w", f32({3})), s = b.add_input("s", InputRole::state, f32({}));
  const Value sum = reduce(Reduction::sum, x * w, {0, 1}, Keep::no);
  graph.loss = sum.id();
  graph.updates.push_back({s.id(), (sum + 1.0).id()});
  graph.correct = cast(sum, DataType::i64).id();
  graph.gradients.push_back({w.id(), (w * 3.0).id()});
  const size_t before = graph.nodes.size();
  drop_dead_nodes(graph);
  EXPECT_EQ(graph.nodes.size(), before);
}

TEST_F(PassTest, SharesSubexpressions) {
  const auto half = [&] { return x * b.constant(tensor_f32({3}, {0.5f, 0.5f, 0.5f})); };
  const Value noise = b.emit_one(RandomUniform{{N, 3}, DataType::f32, 1}, {});
  const Value other = b.emit_one(RandomUniform{{N, 3}, DataType::f32, 2}, {});
  b.add_output("a", exp(half()));
  b.add_output("b", exp(half()));
  b.add_output("c", log(half()));
  b.add_output("d", noise);
  b.add_output("e", other);
  EXPECT_EQ(body_after(graph, share_subexpressions),
            R"(%0 = RandomUniform() {shape [N, 3], dtype float32, stream 1} : float32 N x 3
%1 = RandomUniform() {shape [N, 3], dtype float32, stream 2} : float32 N x 3
%2 = Constant() {value [0.5, 0.5, 0.5]} : float32 3
%3 = Map(%x, %2) {expression x0 * x1} : float32 N x 3
%4 = Map(%3) {expression exp(x0)} : float32 N x 3
%5 = Map(%3) {expression log(x0)} : float32 N x 3
output a = %4
output b = %4
output c = %5
output d = %0
output e = %1
)");
}

TEST_F(PassTest, SharesAllOutputs) {
  const Value image = data(b, "image", f32({N, 1, 4, 4}));
  const auto pool = [&] { return b.emit(MaxPool{window(2, 2), {2, 2}}, {image}); };
  b.add_output("a", pool()[0]);
  b.add_output("b", pool()[1]);
  share_subexpressions(graph);
  verify(graph);
  EXPECT_EQ(graph.nodes.size(), 1u);
}

// Evaluates Maps of equal shapes and Reshapes, as a stand-in for kernels.
std::vector<TensorPtr> evaluate_simple(const Graph& graph) {
  std::map<ValueId, TensorPtr> known;
  for (const Node& n : graph.nodes) {
    const TensorType& type = graph.at(n.outputs[0]).type;
    HostTensor result(DataType::f64, type.dims());
    if (const auto* c = std::get_if<Constant>(&n.primitive)) {
      known[n.outputs[0]] = c->value;
      continue;
    }
    const HostTensor first = known.at(n.inputs[0])->to(DataType::f64);
    for (int64_t i = 0; i < result.element_count(); ++i) {
      const auto at = static_cast<size_t>(i);
      if (const auto* map = std::get_if<Map>(&n.primitive)) {
        result.as<double>()[at] = evaluate(map->expression, std::vector<double>{first.as<double>()[at]});
      } else {
        result.as<double>()[at] = first.as<double>()[at % first.as<double>().size()];
      }
    }
    known[n.outputs[0]] = std::make_shared<const HostTensor>(result.to(type.dtype));
  }
  std::vector<TensorPtr> results;
  for (const GraphOutput& o : graph.outputs) results.push_back(known.at(o.value));
  return results;
}

void fold(Graph& graph) { fold_constants(graph, evaluate_simple); }

TEST_F(PassTest, FoldsConstants) {
  const Value c = b.constant(tensor_f32({3}, {1, 2, 3}));
  b.set_origin("twice");
  const Value twice = c * 2.0, view = reshape(twice + 1.0, {1, 3});
  b.set_origin("");
  b.add_output("y", x * view);
  b.add_output("z", x + twice);
  b.add_output("c", twice);
  EXPECT_EQ(body_after(graph, fold), R"(%0 = Constant() {value [2, 4, 6]} : float32 3  # twice
%1 = Constant() {value [3, 5, 7]} : float32 1 x 3  # twice
%2 = Map(%x, %1) {expression x0 * x1} : float32 N x 3
%3 = Map(%x, %0) {expression x0 + x1} : float32 N x 3
output y = %2
output z = %3
output c = %0
)");
}

TEST_F(PassTest, DoesNotFoldWhatGrowsOrIsRandom) {
  b.add_output("large", expand(b.constant(tensor_f32({1}, {1})), {1 << 15}));
  b.add_output("small", expand(b.constant(tensor_f32({1}, {1})), {1 << 4}));
  b.add_output("random", b.emit_one(RandomUniform{{3}, DataType::f32, 1}, {}));
  b.add_output("free", expand(b.constant(tensor_f32({1}, {1})), {N}));
  const std::string text = after(graph, fold);
  EXPECT_THAT(text, testing::HasSubstr("Expand(%0) {shape [32768]}"));
  EXPECT_THAT(text, testing::HasSubstr("Constant() {value [1, 1, 1, 1, 1, 1, 1, 1, ...]} : float32 16"));
  EXPECT_THAT(text, testing::HasSubstr("RandomUniform"));
  EXPECT_THAT(text, testing::HasSubstr("{shape [N]}"));
}

struct MovementCase {
  const char* name;
  std::function<Value(const Value&)> build;  // from x, float32 N x 3 x 1 x 4
  const char* expected;                      // the nodes that stay
};

TEST(SimplifyMovement, Table) {
  const auto emit = [](Primitive p, const Values& in) { return in[0].builder().emit_one(std::move(p), in); };
  const MovementCase kCases[] = {
      {"reshapes",
       [](const Value& x) {
         return reshape(reshape(reshape(x, {N * 12}), {12, N}), {N, 12});
       },
       "%0 = Reshape(%x) {shape [N, 12]} : float32 N x 12\n"},
      {"reshape there and back",
       [](const Value& x) {
         return reshape(reshape(x, {N, 12}), {N, 3, 1, 4});
       },
       ""},
      {"transpose there and back",
       [](const Value& x) {
         return transpose(transpose(x, {1, 2, 0, 3}), {2, 0, 1, 3});
       },
       ""},
      {"transposes",
       [](const Value& x) {
         return transpose(transpose(x, {1, 2, 3, 0}), {1, 2, 3, 0});
       },
       "%0 = Transpose(%x) {permutation [2, 3, 0, 1]} : float32 1 x 4 x N x 3\n"},
      {"transpose of an axis of size 1",
       [](const Value& x) {
         return transpose(x, {0, 2, 1, 3});
       },
       "%0 = Reshape(%x) {shape [N, 1, 3, 4]} : float32 N x 1 x 3 x 4\n"},
      {"expands",
       [](const Value& x) {
         return expand(expand(x, {N, 3, 5, 4}), {2, N, 3, 5, 4});
       },
       "%0 = Expand(%x) {shape [2, N, 3, 5, 4]} : float32 2 x N x 3 x 5 x 4\n"},
      {"nothing cut, added or joined",
       [&](const Value& x) {
         const Value whole = emit(Slice{{0, 0, 0, 0}, {N, 3, 1, 4}, {1, 1, 1, 1}}, {x});
         return emit(Concat{1}, {emit(Pad{{0, 0, 0, 0}, {0, 0, 0, 0}}, {whole})});
       },
       ""},
      {"a slice backwards", [](const Value& x) { return slice(x, 1, 2, 3, -1); },
       "%0 = Slice(%x) {start [0, 2, 0, 0], size [N, 3, 1, 4], step [1, -1, 1, 1]} : float32 N x 3 x 1 x 4\n"},
      {"a reduction of nothing", [](const Value& x) { return reduce(Reduction::mean, x, {2}, Keep::no); },
       "%0 = Reshape(%x) {shape [N, 3, 4]} : float32 N x 3 x 4\n"},
      {"a reduction that keeps", [](const Value& x) { return reduce(Reduction::max, x, {2}, Keep::yes); }, ""},
      {"stop gradient", [](const Value& x) { return stop_gradient(x); }, ""},
      {"a map broadcasts by itself",
       [](const Value& x) {
         return x * expand(reshape(slice(x, 0, 0, 1), {1, 3, 1, 4}), {N, 3, 1, 4});
       },
       "%0 = Slice(%x) {start [0, 0, 0, 0], size [1, 3, 1, 4], step [1, 1, 1, 1]} : float32 1 x 3 x 1 x 4\n"
       "%1 = Map(%x, %0) {expression x0 * x1} : float32 N x 3 x 1 x 4\n"},
      {"an expand that gives the shape",
       [](const Value& x) {
         return exp(expand(x, {2, N, 3, 1, 4}));
       },
       "%0 = Expand(%x) {shape [2, N, 3, 1, 4]} : float32 2 x N x 3 x 1 x 4\n"
       "%1 = Map(%0) {expression exp(x0)} : float32 2 x N x 3 x 1 x 4\n"},
      {"the expand of a value that is there",
       [](const Value& x) {
         return map([](const Scalar& p, const Scalar& q) { return p + 0 * q; }, x, expand(x, {N, 3, 1, 4}));
       },
       ""},
      {"transposes inside products",
       [](const Value& x) {
         const Value m = reshape(x, {N, 3, 4});
         return matmul(transpose(m, {0, 2, 1}), m, false, false);
       },
       "%0 = Reshape(%x) {shape [N, 3, 4]} : float32 N x 3 x 4\n"
       "%1 = MatMul(%0, %0) {transpose_a yes, transpose_b no, bias no} : float32 N x 4 x 4\n"},
      {"a product transposed",
       [](const Value& x) {
         const Value m = reshape(x, {N * 3, 4});
         return transpose(matmul(m, m, true, false), {1, 0});
       },
       "%0 = Reshape(%x) {shape [3*N, 4]} : float32 3*N x 4\n"
       "%1 = MatMul(%0, %0) {transpose_a yes, transpose_b no, bias no} : float32 4 x 4\n"},
      {"a product that is read as it is too",
       [](const Value& x) {
         const Value m = reshape(x, {N * 3, 4}), p = matmul(m, m, true, false);
         return concat({transpose(p, {1, 0}), p}, 0);
       },
       "%0 = Reshape(%x) {shape [3*N, 4]} : float32 3*N x 4\n"
       "%1 = MatMul(%0, %0) {transpose_a yes, transpose_b no, bias no} : float32 4 x 4\n"
       "%2 = Transpose(%1) {permutation [1, 0]} : float32 4 x 4\n"
       "%3 = Concat(%2, %1) {axis 0} : float32 8 x 4\n"},
      {"a transpose that moves the batch stays",
       [](const Value& x) {
         const Value m = reshape(x, {3, N, 4});
         return matmul(m, transpose(reshape(x, {3, N, 4}), {0, 2, 1}), false, false);
       },
       "%0 = Reshape(%x) {shape [3, N, 4]} : float32 3 x N x 4\n"
       "%1 = Reshape(%x) {shape [3, N, 4]} : float32 3 x N x 4\n"
       "%2 = MatMul(%0, %1) {transpose_a no, transpose_b yes, bias no} : float32 3 x N x N\n"},
  };
  for (const MovementCase& c : kCases) {
    Graph graph;
    Builder b(graph);
    b.add_output("y", c.build(data(b, "x", f32({N, 3, 1, 4}))));
    const std::string text = body_after(graph, simplify_movement);
    EXPECT_EQ(text.substr(0, text.find("output")), c.expected) << c.name;
  }
}

TEST_F(PassTest, FusesChains) {
  b.add_output("y", exp(-(x * 2.0)) + x);
  EXPECT_EQ(body_after(graph, fuse_maps), R"(%0 = Map(%x) {expression exp(-2 * x0) + x0} : float32 N x 3
output y = %0
)");
}

TEST_F(PassTest, TakesInScalarConstants) {
  const Value two = b.scalar(2, DataType::f32), three = b.constant(tensor_f32({1, 1}, {3}));
  b.add_output("y", (x + two) / three);
  b.add_output("i", map([](const Scalar& p, const Scalar& q) { return equal(p, q); }, data(b, "i", i64({N})),
                        b.integers({7}, {})));
  b.add_output("shape", two + three);
  EXPECT_EQ(body_after(graph, fuse_maps), R"(%0 = Constant() {value [3]} : float32 1 x 1
%1 = Map(%x) {expression (x0 + 2) / 3} : float32 N x 3
%2 = Map(%i) {expression x0 == 7} : bool N
%3 = Map(%0) {expression 5} : float32 1 x 1
output y = %1
output i = %2
output shape = %3
)");
}

TEST_F(PassTest, DoesNotFuseWhatMustBeStored) {
  const Value e = exp(x);  // an output
  b.add_output("e", e);
  b.add_output("y", e + 1.0);
  const Value l = log(x);  // read by something that is no Map
  b.add_output("s", reduce(Reduction::sum, l, {0}, Keep::no));
  b.add_output("z", l + 1.0);
  const Value small = sqrt(data(b, "v", f32({3})));  // would be computed again for each row
  b.add_output("w", x * small);
  const size_t before = graph.nodes.size();
  after(graph, fuse_maps);
  EXPECT_EQ(graph.nodes.size(), before);
}

TEST_F(PassTest, ComputesCheapMapsAgain) {
  const Value cheap = map([](const Scalar&e) { return relu(e) + 1; }, x), dear = exp(x);
  const Value two = x + data(b, "v", f32({N, 3}));  // keeping both operands alive would cost more than the sum
  for (const Value& v : {cheap, dear, two}) {
    b.add_output("a", v * x);
    b.add_output("b", v - x);
  }
  EXPECT_EQ(body_after(graph, fuse_maps), R"(%0 = Map(%x) {expression exp(x0)} : float32 N x 3
%1 = Map(%x, %v) {expression x0 + x1} : float32 N x 3
%2 = Map(%x) {expression (relu(x0) + 1) * x0} : float32 N x 3
%3 = Map(%x) {expression relu(x0) + 1 - x0} : float32 N x 3
%4 = Map(%0, %x) {expression x0 * x1} : float32 N x 3
%5 = Map(%0, %x) {expression x0 - x1} : float32 N x 3
%6 = Map(%1, %x) {expression x0 * x1} : float32 N x 3
%7 = Map(%1, %x) {expression x0 - x1} : float32 N x 3
output a = %2
output b = %3
output a = %4
output b = %5
output a = %6
output b = %7
)");
}

TEST_F(PassTest, FusedMapsStaySmall) {
  Value wide = x, deep = x;
  for (int i = 0; i < 40; ++i) wide = wide + data(b, "v" + std::to_string(i), f32({N, 3}));
  for (int i = 0; i < 200; ++i) deep = exp(deep);
  b.add_output("wide", wide);
  b.add_output("deep", deep);
  after(graph, fuse_maps);
  EXPECT_LE(graph.nodes.size(), 6 + 4u);
  for (const Node& n : graph.nodes) {
    EXPECT_LE(n.inputs.size(), 8u);
    EXPECT_LE(std::get<Map>(n.primitive).expression.node_count(), 64u);
  }
}

TEST(Optimise, RunsTheListedPasses) {
  Graph graph;
  Builder b(graph);
  b.add_output("y", exp(-data(b, "x", f32({3}))));
  std::vector<std::string> seen;
  PassOptions options;
  options.verify_each = true;
  options.skip = {"fuse maps"};
  options.observe = [&](const std::string& pass, double seconds, const Graph&) {
    EXPECT_GE(seconds, 0);
    seen.push_back(pass);
  };
  optimise(graph, options);
  EXPECT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(seen, (std::vector<std::string>{"drop dead nodes", "fold constants", "simplify movement",
                                            "share subexpressions", "drop dead nodes", "drop dead nodes"}));
  graph.at(graph.nodes[0].outputs[0]).type.shape = {7};
  EXPECT_THROW(
      {
        try {
          optimise(graph, options);
        } catch (const Error& e) {
          EXPECT_THAT(e.what(), testing::HasSubstr("after pass"));
          throw;
        }
      },
      Error);
}

}  // namespace
}  // namespace arbalest
