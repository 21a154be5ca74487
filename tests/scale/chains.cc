// Long graphs: import, differentiation and planning take time that grows with the number of nodes, and no stack.
//
// Time is the processor's, so that other programs hardly disturb it; a size that grows as the square takes four times
// as long for twice the nodes, and fails. Each size is measured again before that counts.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <utility>

#include "exec/compile.h"
#include "exec/cpu/kernels/kernels.h"
#include "graph/loss.h"
#include "models/models.h"
#include "onnx_import/importer.h"
#include "onnx_import/model_builder.h"
#include "tests/onnx_import/fixtures.h"

namespace arbalest {
namespace {

constexpr size_t kStackBytes = 2u << 20;  // a recursion through 20,000 nodes does not fit
constexpr int kLong = 20000;

// A model of about `nodes` nodes that has a weight in front, so that gradients go all the way.
using Chain = std::function<ModelBuilder(int nodes)>;

HostTensor small_weights(const Dims& dims, int seed) {
  std::vector<float> values(static_cast<size_t>(element_count(dims)));
  uint32_t state = static_cast<uint32_t>(seed) * 2654435761u + 1;
  for (float& v : values) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 8) / static_cast<float>(1 << 24) - 0.5f;
  }
  return f32(dims, values);
}

class ChainModel {
 public:
  ChainModel() {
    m_.graph.input("x", f32({kN, 4}))
        .initializer("first", small_weights({4, 4}, 0))
        .node("MatMul", {"x", "first"}, {last_});
  }

  const std::string& last() const { return last_; }
  std::string initializer(HostTensor value) {
    const std::string name = "w" + std::to_string(count_++);
    m_.graph.initializer(name, std::move(value));
    return name;
  }
  std::string node(const char* op, Strings inputs, Attributes attributes = {}) {
    const std::string name = "v" + std::to_string(count_++);
    m_.graph.node(op, std::move(inputs), {name}, std::move(attributes));
    return name;
  }
  void go_on(std::string value) { last_ = std::move(value); }
  void step(const char* op, Strings more = {}, Attributes attributes = {}) {
    more.insert(more.begin(), last_);
    go_on(node(op, std::move(more), std::move(attributes)));
  }
  ModelBuilder done() {
    m_.graph.output(last_);
    return m_;
  }

 private:
  ModelBuilder m_{17};
  std::string last_ = "start";
  int count_ = 0;
};

ModelBuilder relu_and_add(int nodes) {
  ChainModel m;
  const std::string small = m.initializer(f32({4}, {0.1f, -0.1f, 0.2f, -0.2f}));
  for (int i = 0; i < nodes / 2; ++i) {
    m.step("Relu");
    m.step("Add", {small});
  }
  return m.done();
}

ModelBuilder layers(int nodes) {
  ChainModel m;
  for (int i = 0; i < nodes / 2; ++i) {
    m.step("MatMul", {m.initializer(small_weights({4, 4}, i))});
    m.step("Add", {m.initializer(small_weights({4}, i))});
  }
  return m.done();
}

ModelBuilder layers_of_different_size(int nodes) {
  ChainModel m;
  int64_t width = 4;
  for (int i = 0; i < nodes / 3; ++i) {
    const int64_t next = 4 + i % 13;
    m.step("Gemm", {m.initializer(small_weights({width, next}, i)), m.initializer(small_weights({next}, i))});
    m.step("Relu");
    m.step("LayerNormalization", {m.initializer(small_weights({next}, i))});
    width = next;
  }
  return m.done();
}

ModelBuilder convolutions(int nodes) {
  ChainModel m;
  m.step("Reshape", {m.initializer(HostTensor::i64({4}, std::vector<int64_t>{-1, 1, 2, 2}))});
  for (int i = 0; i < nodes / 3; ++i) {
    m.step("Conv", {m.initializer(small_weights({1, 1, 1, 1}, i))});
    Strings more;
    for (int k = 0; k < 4; ++k) more.push_back(m.initializer(f32({1}, {1.0f})));
    m.step("BatchNormalization", more);
    m.step("Relu");
  }
  return m.done();
}

ModelBuilder identities(int nodes) {
  ChainModel m;
  for (int i = 0; i < nodes; ++i) m.step("Identity");
  return m.done();
}

// A weight that only its distant reader makes one.
ModelBuilder weight_behind_transposes(int nodes) {
  ChainModel m;
  std::string w = m.initializer(small_weights({4, 4}, 1));
  for (int i = 0; i < nodes / 2 * 2; ++i) w = m.node("Transpose", {w});
  m.step("MatMul", {w});
  return m.done();
}

ModelBuilder shape_arithmetic(int nodes) {
  ChainModel m;
  const std::string one = m.initializer(HostTensor::i64({1}, std::vector<int64_t>{1})),
                    columns = m.initializer(HostTensor::i64({1}, std::vector<int64_t>{4}));
  const std::string zero = m.initializer(HostTensor::i64({1}, std::vector<int64_t>{0}));
  std::string size = m.node("Gather", {m.node("Shape", {"x"}), zero});
  for (int i = 0; i < nodes / 2; ++i) {
    size = m.node("Add", {size, one});
    size = m.node("Sub", {size, one});
  }
  m.step("Reshape", {m.node("Concat", {size, columns}, {{"axis", 0}})});
  return m.done();
}

// Sizes as strided windows make them: floor((... floor((N + 1) / 2) ...) + 1) / 2).
ModelBuilder halved_sizes(int nodes) {
  ChainModel m;
  const std::string one = m.initializer(HostTensor::i64({1}, std::vector<int64_t>{1})),
                    two = m.initializer(HostTensor::i64({1}, std::vector<int64_t>{2})),
                    zero = m.initializer(HostTensor::i64({1}, std::vector<int64_t>{0}));
  std::string size = m.node("Gather", {m.node("Shape", {"x"}), zero});
  for (int i = 0; i < nodes / 2; ++i) {
    size = m.node("Add", {size, one});
    size = m.node("Div", {size, two});
  }
  m.step("Add", {m.node("Cast", {m.node("Min", {size, one})}, {{"to", 1}})});
  return m.done();
}

ModelBuilder doublings(int nodes) {
  ChainModel m;
  const std::string half = m.initializer(f32({4}, {0.5f, 0.5f, 0.5f, 0.5f}));
  for (int i = 0; i < nodes / 3; ++i) {
    m.step("Add", {m.last()});
    m.step("Mul", {half});
    m.step("Tanh");
  }
  return m.done();
}

ModelBuilder residuals(int nodes) {
  ChainModel m;
  for (int i = 0; i < nodes / 3; ++i) {
    const std::string inner =
        m.node("MatMul", {m.node("Sigmoid", {m.last()}), m.initializer(small_weights({4, 4}, i))});
    m.step("Add", {inner});
  }
  return m.done();
}

ModelBuilder many_readers(int nodes) {
  ChainModel m;
  const std::string shared = m.last();
  for (int i = 0; i < nodes / 2; ++i)
    m.step("Add", {m.node("MatMul", {shared, m.initializer(small_weights({4, 4}, i))})});
  return m.done();
}

ModelBuilder concat_and_slice(int nodes) {
  ChainModel m;
  const auto index = [&](int64_t i) { return m.initializer(HostTensor::i64({1}, std::vector<int64_t>{i})); };
  const std::string from = index(2), to = index(6), axis = index(1);
  for (int i = 0; i < nodes / 3; ++i) {
    m.step("Concat", {m.node("Sin", {m.last()})}, {{"axis", 1}});
    m.step("Slice", {from, to, axis});
  }
  return m.done();
}

// Weights joined one after the other.
ModelBuilder joined_weights(int nodes) {
  ChainModel m;
  const auto index = [&](int64_t i) { return m.initializer(HostTensor::i64({1}, std::vector<int64_t>{i})); };
  const std::string from = index(4), to = index(8), axis = index(0);
  std::string w = m.initializer(small_weights({4, 4}, 0));
  for (int i = 0; i < nodes / 2; ++i) {
    w = m.node("Concat", {w, m.initializer(small_weights({4, 4}, i))}, {{"axis", 0}});
    w = m.node("Slice", {w, from, to, axis});
  }
  m.step("MatMul", {w});
  return m.done();
}

ModelBuilder slices_of_one_value(int nodes) {
  ChainModel m;
  const auto index = [&](int64_t i) { return m.initializer(HostTensor::i64({1}, std::vector<int64_t>{i})); };
  const std::string axis = index(0), table = m.initializer(small_weights({nodes / 2, 4}, 0));
  for (int i = 0; i < nodes / 2; ++i) m.step("Add", {m.node("Slice", {table, index(i), index(i + 1), axis})});
  return m.done();
}

double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The whole way of the program: bytes to plan.
double time_of(const std::string& bytes, const Bindings& bindings) {
  const double start = seconds();
  const ModelPtr file = load_model_bytes(bytes, "chain.onnx");
  Imported imported = import_model(*file, {});
  LossOptions loss;
  loss.kind = LossKind::mean_squared_error;
  loss.output = imported.graph.outputs[0].name;
  attach_loss(imported.graph, loss);
  const auto plan = compile(imported.graph, bindings, cpu::kernel_set(), {});
  EXPECT_GT(plan->parameters()->bytes(), 0u);
  return seconds() - start;
}

// Runs f on a small stack.
void on_small_stack(std::function<void()> f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    try {
      (*static_cast<std::function<void()>*>(argument))();
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

void check_growth(const Chain& chain, int longest) {
  const std::string half = chain(longest / 2).bytes(), whole = chain(longest).bytes();
  double of_half = 1e9, of_whole = 1e9;
  for (int attempt = 0; attempt < 3; ++attempt) {
    of_half = std::min(of_half, time_of(half, {{"N", 2}}));
    of_whole = std::min(of_whole, time_of(whole, {{"N", 2}}));
    if (of_whole < 2.8 * of_half + 0.1) break;
  }
  const double of_quarter = time_of(chain(longest / 4).bytes(), {{"N", 2}});
  printf("%d nodes %.2f s, %d %.2f s, %d %.2f s\n", longest / 4, of_quarter, longest / 2, of_half, longest, of_whole);
  EXPECT_LT(of_whole, 2.8 * of_half + 0.1);
}

struct NamedChain {
  const char* name;
  ModelBuilder (*build)(int nodes);
  int longest = 8000;
};

class Growth : public testing::TestWithParam<NamedChain> {};

TEST_P(Growth, IsLinear) {
  on_small_stack([] { check_growth(GetParam().build, GetParam().longest); });
}

INSTANTIATE_TEST_SUITE_P(
    Chains, Growth,
    testing::Values(NamedChain{"ReluAndAdd", relu_and_add, kLong}, NamedChain{"Layers", layers, kLong},
                    NamedChain{"LayersOfDifferentSize", layers_of_different_size},
                    NamedChain{"Convolutions", convolutions}, NamedChain{"Identities", identities, kLong},
                    NamedChain{"WeightBehindTransposes", weight_behind_transposes, kLong},
                    NamedChain{"ShapeArithmetic", shape_arithmetic, kLong},
                    NamedChain{"HalvedSizes", halved_sizes, kLong}, NamedChain{"Doublings", doublings},
                    NamedChain{"Residuals", residuals}, NamedChain{"ManyReaders", many_readers},
                    NamedChain{"ConcatAndSlice", concat_and_slice}, NamedChain{"JoinedWeights", joined_weights},
                    NamedChain{"SlicesOfOneValue", slices_of_one_value}),
    [](const auto& chain) { return std::string(chain.param.name); });

TEST(Scale, ResNet50) {
  const std::string bytes = build_model("resnet50", {});
  printf("%.2f s\n", time_of(bytes, {{"N", 16}}));
}

}  // namespace
}  // namespace arbalest
