#include "models/models.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "graph/base/error.h"
#include "models/random.h"
#include "onnx_import/model_file.h"
#include "onnx_import/tensor_reader.h"

namespace arbalest {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

ModelFile model(const std::string& name, const ModelOptions& options = {}) {
  return parse_model_file(build_model(name, options), name + ".onnx");
}

// With the default options; made once, since resnet50 takes a second.
const ModelFile& default_model(const std::string& name) {
  static std::map<std::string, ModelFile> made;
  auto it = made.find(name);
  if (it == made.end()) it = made.emplace(name, model(name)).first;
  return it->second;
}

std::map<std::string, HostTensor> parameters(const ModelFile& m) {
  std::map<std::string, HostTensor> result;
  for (const auto& t : m.proto.graph().initializer()) result.emplace(t.name(), read_tensor(t, m));
  return result;
}

std::string fault(const std::string& name, const ModelOptions& options) {
  try {
    build_model(name, options);
    return "";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::usage) << e.what();
    return e.what();
  }
}

struct Size {
  const char* name;
  int64_t trained;     // elements of weights and biases
  int64_t statistics;  // elements of running means and variances
  size_t tensors;
};

// Counted by PyTorch 2.x on the same modules, resnet50 on torchvision's.
constexpr Size kSizes[] = {
    {"mlp", 535818, 0, 6},
    {"lenet", 431080, 0, 8},
    {"resnet8", 78042, 672, 47},
    {"resnet20", 272474, 1568, 107},
    {"resnet32", 466906, 2464, 167},
    {"vgg16", 14728266, 8448, 80},
    {"resnet50", 25557032, 53120, 267},
};

TEST(Models, ParameterCountsArePyTorchs) {
  for (const Size& size : kSizes) {
    const ModelFile& m = default_model(size.name);
    int64_t trained = 0;
    int64_t statistics = 0;
    for (const auto& [name, value] : parameters(m)) {
      (name.find(".running_") == std::string::npos ? trained : statistics) += value.element_count();
    }
    EXPECT_EQ(trained, size.trained) << size.name;
    EXPECT_EQ(statistics, size.statistics) << size.name;
    EXPECT_EQ(static_cast<size_t>(m.proto.graph().initializer_size()), size.tensors) << size.name;
  }
  EXPECT_EQ(model_names().size(), std::size(kSizes));
}

TEST(Models, AreWellFormed) {
  for (const std::string& name : model_names()) {
    const ModelFile& m = default_model(name);
    const onnx::GraphProto& g = m.proto.graph();
    EXPECT_EQ(m.proto.opset_import(0).version(), 17);
    ASSERT_EQ(g.input_size(), 1);
    EXPECT_EQ(g.input(0).name(), "input");
    EXPECT_EQ(g.input(0).type().tensor_type().shape().dim(0).dim_param(), "N");
    ASSERT_EQ(g.output_size(), 1);
    EXPECT_EQ(g.output(0).name(), "logits");

    std::set<std::string> known = {"input"};
    std::set<std::string> unused;
    std::set<std::string> node_names;
    for (const auto& t : g.initializer()) {
      known.insert(t.name());
      unused.insert(t.name());
    }
    for (const auto& n : g.node()) {
      EXPECT_TRUE(node_names.insert(n.name()).second) << n.name();
      for (const auto& input : n.input()) {
        EXPECT_TRUE(known.count(input) > 0) << input;
        unused.erase(input);
      }
      ASSERT_EQ(n.output_size(), 1);
      EXPECT_TRUE(known.insert(n.output(0)).second) << n.output(0);
    }
    EXPECT_TRUE(known.count("logits") > 0);
    EXPECT_TRUE(unused.empty()) << *unused.begin();
  }
}

TEST(Models, NamesAreThoseOfTheModules) {
  const ModelFile m = model("resnet8");
  const auto p = parameters(m);
  EXPECT_EQ(p.at("conv1.weight").dims, (Dims{16, 3, 3, 3}));
  EXPECT_EQ(p.at("blocks.1.conv1.weight").dims, (Dims{32, 16, 3, 3}));
  EXPECT_EQ(p.at("blocks.1.down.0.weight").dims, (Dims{32, 16, 1, 1}));
  EXPECT_EQ(p.at("blocks.2.bn2.running_var").dims, (Dims{64}));
  EXPECT_EQ(p.at("fc.weight").dims, (Dims{10, 64}));
  EXPECT_EQ(p.count("blocks.0.down.0.weight"), 0u);
  std::set<std::string> nodes;
  for (const auto& n : m.proto.graph().node()) nodes.insert(n.name());
  EXPECT_TRUE(nodes.count("/blocks.0/conv1/Conv") > 0);
  EXPECT_TRUE(nodes.count("/fc/Gemm") > 0);
}

TEST(Models, AdaptToInputAndClasses) {
  ModelOptions options;
  options.input = Dims{3, 40, 32};
  options.classes = 7;
  auto p = parameters(model("lenet", options));
  EXPECT_EQ(p.at("conv1.weight").dims, (Dims{20, 3, 5, 5}));
  EXPECT_EQ(p.at("fc1.weight").dims, (Dims{500, 50 * 7 * 5}));
  EXPECT_EQ(p.at("fc2.bias").dims, (Dims{7}));
  p = parameters(model("mlp", options));
  EXPECT_EQ(p.at("net.1.weight").dims, (Dims{512, 3 * 40 * 32}));
  p = parameters(model("resnet20", options));
  EXPECT_EQ(p.at("fc.weight").dims, (Dims{7, 64}));
  options.input = Dims{1, 96, 64};
  p = parameters(model("vgg16", options));
  EXPECT_EQ(p.at("classifier.weight").dims, (Dims{7, 512 * 3 * 2}));
}

TEST(Models, RefuseWhatDoesNotFit) {
  ModelOptions options;
  EXPECT_THAT(fault("alexnet", options), HasSubstr("unknown model 'alexnet'; there are mlp, lenet, resnet8"));
  options.input = Dims{1, 15, 28};
  EXPECT_THAT(fault("lenet", options), HasSubstr("input 1 x 15 x 28 is too small: 'pool2' has a kernel of 2 x 2"));
  options.input = Dims{1, 16, 16};
  EXPECT_EQ(fault("lenet", options), "");
  options.input = Dims{3, 31, 32};
  EXPECT_THAT(fault("vgg16", options), HasSubstr("too small"));
  options.input = Dims{3, 0, 32};
  EXPECT_THAT(fault("resnet8", options), HasSubstr("input 3 x 0 x 32 is not C x H x W"));
  options.input = Dims{28, 28};
  EXPECT_THAT(fault("mlp", options), HasSubstr("not C x H x W"));
  options.input = Dims{3, 65536, 65536};
  EXPECT_THAT(fault("mlp", options), HasSubstr("more than 2 GiB"));
  options.input = Dims{1, 1, 1};
  EXPECT_EQ(fault("resnet8", options), "");
  options.classes = 0;
  EXPECT_THAT(fault("resnet8", options), HasSubstr("0 classes"));
}

TEST(Models, SameSeedSameBytes) {
  EXPECT_EQ(build_model("lenet", {}), build_model("lenet", {}));
  ModelOptions other;
  other.seed = 2;
  EXPECT_NE(build_model("lenet", {}), build_model("lenet", other));
  // A weight does not depend on the rest of the model.
  ModelOptions classes;
  classes.classes = 3;
  EXPECT_EQ(parameters(model("lenet")).at("fc1.weight"), parameters(model("lenet", classes)).at("fc1.weight"));
}

TEST(Models, InitialValues) {
  const auto lenet = parameters(model("lenet"));
  const auto max_of = [](const HostTensor& t) {
    float max = 0;
    for (const float x : t.as<float>()) max = std::max(max, std::fabs(x));
    return max;
  };
  EXPECT_LE(max_of(lenet.at("conv2.weight")), 1 / std::sqrt(500.0f));
  EXPECT_GE(max_of(lenet.at("conv2.weight")), 0.999f / std::sqrt(500.0f));
  EXPECT_LE(max_of(lenet.at("fc1.bias")), 1 / std::sqrt(800.0f));
  EXPECT_GE(max_of(lenet.at("fc1.bias")), 0.98f / std::sqrt(800.0f));

  const auto resnet = parameters(model("resnet20"));
  const HostTensor& weight = resnet.at("blocks.8.conv2.weight");  // 64 x 64 x 3 x 3: fan_out 576
  double sum = 0;
  double squares = 0;
  for (const float x : weight.as<float>()) {
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  const auto n = static_cast<double>(weight.element_count());
  EXPECT_NEAR(sum / n, 0, 1e-3);
  EXPECT_NEAR(std::sqrt(squares / n), std::sqrt(2.0 / 576), 1e-3);
  EXPECT_THAT(resnet.at("bn1.weight").as<float>(), Each(1.0f));
  EXPECT_THAT(resnet.at("bn1.bias").as<float>(), Each(0.0f));
  EXPECT_THAT(resnet.at("bn1.running_mean").as<float>(), Each(0.0f));
  EXPECT_THAT(resnet.at("bn1.running_var").as<float>(), Each(1.0f));
}

// Computed by a Python program from the definition of SplitMix64 and FNV-1a.
TEST(Random, EqualsReference) {
  std::vector<float> values(4);
  fill_uniform(values, 0.5, 7, "conv1.weight");
  EXPECT_THAT(values, ::testing::ElementsAre(0.3086023f, 0.21671958f, -0.4600493f, -0.030822678f));
  fill_normal(values, 2, 7, "conv1.weight");
  EXPECT_THAT(values, ::testing::ElementsAre(-0.27062654f, -1.2752826f, -4.980633f, 0.97681504f));
  std::vector<float> odd(3);
  fill_normal(odd, 2, 7, "conv1.weight");
  EXPECT_EQ(odd[2], values[2]);
}

}  // namespace
}  // namespace arbalest
