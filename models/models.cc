#include "models/models.h"

#include <algorithm>
#include <array>

#include "graph/base/error.h"
#include "models/network.h"

namespace arbalest {
namespace {

Feature mlp(Network& net, int64_t classes) {
  Feature x = net.flatten("net.0", net.input());
  x = net.relu("net.2", net.linear("net.1", x, 512));
  x = net.relu("net.4", net.linear("net.3", x, 256));
  return net.linear("net.5", x, classes);
}

Feature lenet(Network& net, int64_t classes) {
  Feature x = net.max_pool("pool1", net.conv("conv1", net.input(), {20, 5}), 2, 2);
  x = net.max_pool("pool2", net.conv("conv2", x, {50, 5}), 2, 2);
  x = net.relu("relu", net.linear("fc1", net.flatten("flatten", x), 500));
  return net.linear("fc2", x, classes);
}

Feature vgg16(Network& net, int64_t classes) {
  constexpr int64_t kPool = 0;
  constexpr std::array<int64_t, 18> kChannels = {64,    64,  kPool, 128, 128,   kPool, 256, 256, 256,
                                                 kPool, 512, 512,   512, kPool, 512,   512, 512, kPool};
  Feature x = net.input();
  int layer = 0;
  const auto module = [&] { return "features." + std::to_string(layer++); };
  for (const int64_t channels : kChannels) {
    if (channels == kPool) {
      x = net.max_pool(module(), x, 2, 2);
    } else {
      x = net.conv(module(), x, {channels, 3, 1, 1});
      x = net.batch_norm(module(), x);
      x = net.relu(module(), x);
    }
  }
  return net.linear("classifier", net.flatten("flatten", x), classes);
}

// ---- ResNets

struct BlockOptions {
  int64_t channels;  // of the 3x3 convolutions
  int64_t stride;
  bool project;  // a 1x1 convolution where the block changes the shape
};

// Two 3x3 convolutions (He et al., figure 5 left).
Feature basic_block(Network& net, const std::string& module, const Feature& x, const BlockOptions& o) {
  Feature y = net.conv(module + ".conv1", x, {o.channels, 3, o.stride, 1, false});
  y = net.relu(module + ".relu1", net.batch_norm(module + ".bn1", y));
  y = net.conv(module + ".conv2", y, {o.channels, 3, 1, 1, false});
  y = net.batch_norm(module + ".bn2", y);
  Feature shortcut = x;
  if (o.project) {
    shortcut = net.conv(module + ".down.0", x, {o.channels, 1, o.stride, 0, false});
    shortcut = net.batch_norm(module + ".down.1", shortcut);
  }
  return net.relu(module + ".relu2", net.add(module, y, shortcut));
}

// 1x1, 3x3, 1x1 with four times the channels (figure 5 right), the stride in the 3x3 convolution.
Feature bottleneck_block(Network& net, const std::string& module, const Feature& x, const BlockOptions& o) {
  const int64_t wide = 4 * o.channels;
  Feature y = net.conv(module + ".conv1", x, {o.channels, 1, 1, 0, false});
  y = net.relu(module + ".relu1", net.batch_norm(module + ".bn1", y));
  y = net.conv(module + ".conv2", y, {o.channels, 3, o.stride, 1, false});
  y = net.relu(module + ".relu2", net.batch_norm(module + ".bn2", y));
  y = net.conv(module + ".conv3", y, {wide, 1, 1, 0, false});
  y = net.batch_norm(module + ".bn3", y);
  Feature shortcut = x;
  if (o.project) {
    shortcut = net.conv(module + ".downsample.0", x, {wide, 1, o.stride, 0, false});
    shortcut = net.batch_norm(module + ".downsample.1", shortcut);
  }
  return net.relu(module + ".relu3", net.add(module, y, shortcut));
}

Feature classify(Network& net, const Feature& x, int64_t classes) {
  return net.linear("fc", net.flatten("flatten", net.global_average_pool("avgpool", x)), classes);
}

// Depth 6n + 2.
Feature cifar_resnet(Network& net, int n, int64_t classes) {
  Feature x = net.conv("conv1", net.input(), {16, 3, 1, 1, false});
  x = net.relu("relu", net.batch_norm("bn1", x));
  int block = 0;
  for (const int64_t channels : {16, 32, 64}) {
    for (int i = 0; i < n; ++i) {
      const bool smaller = i == 0 && channels != 16;
      x = basic_block(net, "blocks." + std::to_string(block++), x, {channels, smaller ? 2 : 1, smaller});
    }
  }
  return classify(net, x, classes);
}

Feature resnet50(Network& net, int64_t classes) {
  Feature x = net.conv("conv1", net.input(), {64, 7, 2, 3, false});
  x = net.relu("relu", net.batch_norm("bn1", x));
  x = net.max_pool("maxpool", x, 3, 2, 1);
  constexpr std::array<int, 4> kBlocks = {3, 4, 6, 3};
  for (size_t stage = 0; stage < kBlocks.size(); ++stage) {
    for (int i = 0; i < kBlocks[stage]; ++i) {
      const int64_t stride = i == 0 && stage > 0 ? 2 : 1;
      const std::string module = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      x = bottleneck_block(net, module, x, {int64_t{64} << stage, stride, i == 0});
    }
  }
  return classify(net, x, classes);
}

// ---- the table

struct Architecture {
  const char* name;
  Dims input;
  int64_t classes;
  ConvInit init;
  Feature (*build)(Network&, int64_t classes);
};

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> kAll = {
      {"mlp", {1, 28, 28}, 10, ConvInit::pytorch, mlp},
      {"lenet", {1, 28, 28}, 10, ConvInit::pytorch, lenet},
      {"resnet8",
       {3, 32, 32},
       10,
       ConvInit::kaiming_fan_out,
       [](Network& net, int64_t classes) { return cifar_resnet(net, 1, classes); }},
      {"resnet20",
       {3, 32, 32},
       10,
       ConvInit::kaiming_fan_out,
       [](Network& net, int64_t classes) { return cifar_resnet(net, 3, classes); }},
      {"resnet32",
       {3, 32, 32},
       10,
       ConvInit::kaiming_fan_out,
       [](Network& net, int64_t classes) { return cifar_resnet(net, 5, classes); }},
      {"resnet50", {3, 224, 224}, 1000, ConvInit::kaiming_fan_out, resnet50},
      {"vgg16", {3, 32, 32}, 10, ConvInit::pytorch, vgg16},
  };
  return kAll;
}

// Sizes so large that products of three cannot overflow; whether the weights fit is found while they are made.
constexpr int64_t kMaxSize = 1 << 16;

void check(const std::string& name, const Dims& input, int64_t classes) {
  const auto in_range = [](int64_t d) { return 1 <= d && d <= kMaxSize; };
  if (input.size() != 3 || !std::all_of(input.begin(), input.end(), in_range)) {
    throw Error(ErrorKind::usage, "{}: input {} is not C x H x W with sizes from 1 to {}, for example 3 x 32 x 32",
                name, to_string(input), kMaxSize);
  }
  if (!in_range(classes)) throw Error(ErrorKind::usage, "{}: {} classes; expected 1 to {}", name, classes, kMaxSize);
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Architecture& a : architectures()) names.emplace_back(a.name);
  return names;
}

std::string build_model(const std::string& name, const ModelOptions& options) {
  for (const Architecture& a : architectures()) {
    if (a.name != name) continue;
    const Dims input = options.input.value_or(a.input);
    const int64_t classes = options.classes.value_or(a.classes);
    check(name, input, classes);
    Network net(name, input, options.seed, a.init);
    return net.finish(a.build(net, classes));
  }
  throw Error(ErrorKind::usage, "unknown model '{}'; there are {}", name, fmt::join(model_names(), ", "));
}

}  // namespace arbalest
