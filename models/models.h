// Reference models, written as ONNX: mlp, lenet, resnet8, resnet20, resnet32, resnet50, vgg16.
//
// Input "input" of shape N x C x H x W (float32, free batch N), output "logits" of shape N x classes. Parameters have
// the names that the same PyTorch modules give them ("blocks.0.bn1.running_mean"), so a state_dict fits.
// BatchNormalization has its inference form: one output; a trainer uses the batch's statistics.
//
// Initial weights are a function of (seed, parameter name, element) alone: linear layers and their biases, and the
// convolutions of lenet and vgg16, U(-1/sqrt(fan_in), 1/sqrt(fan_in)) as PyTorch has it; the convolutions of the
// ResNets N(0, 2/fan_out) (He et al., ICCV 2015) as torchvision has it; BatchNormalization 1 and 0.
//
// Architectures: LeNet as in Caffe; ResNet for CIFAR (He et al., CVPR 2016, section 4.2, with projection shortcuts);
// ResNet-50 v1.5 as in torchvision (stride in the 3x3 convolution); VGG-16 with BatchNormalization and one linear
// layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/types.h"

namespace arbalest {

struct ModelOptions {
  std::optional<Dims> input;       // C, H, W; by default what the architecture was made for
  std::optional<int64_t> classes;  // by default 1000 for resnet50, 10 for the others
  uint64_t seed = 1;
};

std::vector<std::string> model_names();

// A serialised ModelProto. Usage error for an unknown name, an input too small for the architecture, more than 2 GiB.
std::string build_model(const std::string& name, const ModelOptions& options);

}  // namespace arbalest
