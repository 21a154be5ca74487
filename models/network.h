// Layers that add themselves, with initialised parameters, to an ONNX model, and know the size of what they give.
//
// A layer is named like the PyTorch module it equals: "blocks.0.conv1" has the parameter "blocks.0.conv1.weight" and
// the node "/blocks.0/conv1/Conv". Usage error when a feature map is too small for a kernel, or the weights exceed 2
// GiB.
#pragma once

#include <span>
#include <string>

#include "graph/types.h"
#include "onnx_import/model_builder.h"

namespace arbalest {

// What flows between layers: a value of the model and its sizes without the batch (C, H, W or one number).
struct Feature {
  std::string name;
  Dims dims;
};

enum class ConvInit : uint8_t { pytorch, kaiming_fan_out };

struct ConvOptions {
  int64_t channels;
  int64_t kernel;
  int64_t stride = 1;
  int64_t pad = 0;
  bool bias = true;
};

class Network {
 public:
  Network(std::string name, const Dims& input, uint64_t seed, ConvInit init);

  Feature input() const { return input_; }
  Feature conv(const std::string& module, const Feature& x, const ConvOptions& options);
  Feature batch_norm(const std::string& module, const Feature& x);
  Feature linear(const std::string& module, const Feature& x, int64_t outputs);
  Feature relu(const std::string& module, const Feature& x);
  Feature max_pool(const std::string& module, const Feature& x, int64_t kernel, int64_t stride, int64_t pad = 0);
  Feature global_average_pool(const std::string& module, const Feature& x);
  Feature flatten(const std::string& module, const Feature& x);
  Feature add(const std::string& module, const Feature& a, const Feature& b);

  // The model whose output "logits" is x, the result of the last layer added.
  std::string finish(const Feature& x);

 private:
  Feature node(const std::string& module, const std::string& op, Strings inputs, Attributes attributes, Dims dims);
  std::span<float> parameter(const std::string& name, Dims dims);
  void constant_parameter(const std::string& name, int64_t size, float value);
  void uniform_parameter(const std::string& name, Dims dims, int64_t fan_in);
  Dims window(const std::string& module, const Feature& x, int64_t channels, int64_t kernel, int64_t stride,
              int64_t pad);

  std::string name_;
  uint64_t seed_;
  ConvInit init_;
  Feature input_;
  int64_t weight_count_ = 0;
  ModelBuilder model_;
};

}  // namespace arbalest
