#include "models/network.h"

#include <cctype>
#include <cmath>

#include "graph/base/error.h"
#include "models/random.h"

namespace arbalest {
namespace {

constexpr int64_t kMaxWeights = (int64_t{2} << 30) / 4 - (1 << 20);  // 2 GiB of float32, less room for the rest

// "blocks.0.conv1" -> "/blocks.0/conv1": a number stays with the list it counts in.
std::string path_of(const std::string& module) {
  std::string path = "/" + module;
  for (size_t i = 1; i + 1 < path.size(); ++i) {
    if (path[i] == '.' && std::isdigit(static_cast<unsigned char>(path[i + 1])) == 0) path[i] = '/';
  }
  return path;
}

}  // namespace

Network::Network(std::string name, const Dims& input, uint64_t seed, ConvInit init)
    : name_(std::move(name)), seed_(seed), init_(init), input_{"input", input} {
  model_.graph.name = name_;
  Shape shape{Dim::symbol("N")};
  for (const int64_t d : input) shape.push_back(d);
  model_.graph.input("input", TensorType{DataType::f32, shape});
}

Feature Network::node(const std::string& module, const std::string& op, Strings inputs, Attributes attributes,
                      Dims dims) {
  const std::string path = path_of(module) + (module.empty() ? "" : "/") + op;
  const std::string output = path + "_output_0";
  model_.graph.node(op, std::move(inputs), {output}, std::move(attributes), path);
  return {output, std::move(dims)};
}

std::span<float> Network::parameter(const std::string& name, Dims dims) {
  weight_count_ += element_count(dims);
  if (weight_count_ > kMaxWeights) {
    throw Error(ErrorKind::usage, "{}: input {} makes '{}' {}: more than 2 GiB of weights; take a smaller input", name_,
                to_string(input_.dims), name, to_string(dims));
  }
  model_.graph.initializer(name, HostTensor(DataType::f32, std::move(dims)));
  return model_.graph.initializers.back().second.as<float>();
}

void Network::constant_parameter(const std::string& name, int64_t size, float value) {
  for (float& x : parameter(name, {size})) x = value;
}

void Network::uniform_parameter(const std::string& name, Dims dims, int64_t fan_in) {
  fill_uniform(parameter(name, std::move(dims)), 1 / std::sqrt(static_cast<double>(fan_in)), seed_, name);
}

Dims Network::window(const std::string& module, const Feature& x, int64_t channels, int64_t kernel, int64_t stride,
                     int64_t pad) {
  Dims out = {channels};
  for (size_t axis = 1; axis < 3; ++axis) {
    const int64_t room = x.dims[axis] + 2 * pad - kernel;
    if (room < 0) {
      throw Error(ErrorKind::usage, "{}: input {} is too small: '{}' has a kernel of {} x {}, but only {} is left",
                  name_, to_string(input_.dims), module, kernel, kernel, to_string(x.dims));
    }
    out.push_back(room / stride + 1);
  }
  return out;
}

Feature Network::conv(const std::string& module, const Feature& x, const ConvOptions& o) {
  const Dims out = window(module, x, o.channels, o.kernel, o.stride, o.pad);
  const Dims weight = {o.channels, x.dims[0], o.kernel, o.kernel};
  const int64_t area = o.kernel * o.kernel;
  Strings inputs = {x.name, module + ".weight"};
  if (init_ == ConvInit::pytorch) {
    uniform_parameter(inputs[1], weight, x.dims[0] * area);
  } else {
    fill_normal(parameter(inputs[1], weight), std::sqrt(2.0 / static_cast<double>(o.channels * area)), seed_,
                inputs[1]);
  }
  if (o.bias) {
    inputs.push_back(module + ".bias");
    uniform_parameter(inputs[2], {o.channels}, x.dims[0] * area);
  }
  return node(module, "Conv", std::move(inputs),
              {{"dilations", Ints{1, 1}},
               {"group", 1},
               {"kernel_shape", Ints{o.kernel, o.kernel}},
               {"pads", Ints{o.pad, o.pad, o.pad, o.pad}},
               {"strides", Ints{o.stride, o.stride}}},
              out);
}

Feature Network::batch_norm(const std::string& module, const Feature& x) {
  Strings inputs = {x.name};
  for (const auto& [name, value] : {std::pair(".weight", 1.0f), std::pair(".bias", 0.0f),
                                    std::pair(".running_mean", 0.0f), std::pair(".running_var", 1.0f)}) {
    inputs.push_back(module + name);
    constant_parameter(inputs.back(), x.dims[0], value);
  }
  return node(module, "BatchNormalization", std::move(inputs), {{"epsilon", 1e-5}, {"momentum", 0.9}}, x.dims);
}

Feature Network::linear(const std::string& module, const Feature& x, int64_t outputs) {
  uniform_parameter(module + ".weight", {outputs, x.dims[0]}, x.dims[0]);
  uniform_parameter(module + ".bias", {outputs}, x.dims[0]);
  return node(module, "Gemm", {x.name, module + ".weight", module + ".bias"},
              {{"alpha", 1.0}, {"beta", 1.0}, {"transB", 1}}, {outputs});
}

Feature Network::relu(const std::string& module, const Feature& x) {
  return node(module, "Relu", {x.name}, {}, x.dims);
}

Feature Network::max_pool(const std::string& module, const Feature& x, int64_t kernel, int64_t stride, int64_t pad) {
  const Dims out = window(module, x, x.dims[0], kernel, stride, pad);
  return node(
      module, "MaxPool", {x.name},
      {{"kernel_shape", Ints{kernel, kernel}}, {"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{stride, stride}}},
      out);
}

Feature Network::global_average_pool(const std::string& module, const Feature& x) {
  return node(module, "GlobalAveragePool", {x.name}, {}, {x.dims[0], 1, 1});
}

Feature Network::flatten(const std::string& module, const Feature& x) {
  return node(module, "Flatten", {x.name}, {{"axis", 1}}, {element_count(x.dims)});
}

Feature Network::add(const std::string& module, const Feature& a, const Feature& b) {
  return node(module, "Add", {a.name, b.name}, {}, a.dims);
}

std::string Network::finish(const Feature& x) {
  ensure(model_.graph.nodes.back().outputs == Strings{x.name}, "the output is not the last layer");
  model_.graph.nodes.back().outputs = {"logits"};
  model_.graph.output("logits", TensorType{DataType::f32, {Dim::symbol("N"), x.dims[0]}});
  return model_.bytes();
}

}  // namespace arbalest
