// Examples held in memory: one or more inputs, and labels.
//
// Invariant: every column has size() examples along its first axis, at least one. Inputs are uint8 (images, scaled by
// 1/255 when a batch is filled) or float32; labels are int64 classes or float32 targets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/host_tensor.h"

namespace arbalest {

struct Column {
  std::string name;
  HostTensor values;

  Dims sample() const { return Dims(values.dims.begin() + 1, values.dims.end()); }  // sizes of one example
  int64_t sample_elements() const { return element_count(sample()); }
};

struct Dataset {
  std::string name;  // subject of messages: "fashion-mnist"
  std::vector<Column> inputs;
  Column labels;
  int64_t classes = 0;  // 1 + the greatest label; 0 when the labels are float32

  uint32_t size() const { return static_cast<uint32_t>(labels.values.dims[0]); }
  bool has_classes() const { return labels.values.dtype == DataType::i64; }
};

// Converts the columns to the types above; integer labels of N x 1 become N. Io error, with the name in front, when the
// columns disagree about the number of examples, have none, or one has no axis of examples.
Dataset make_dataset(std::string name, std::vector<Column> inputs, Column labels);

// Io error naming the first label outside [0, classes): "label 7 at example 12: the model has 3 classes (0 to 2)".
// A label that the loss ignores may be any number.
void check_labels(const Dataset& dataset, int64_t classes, std::optional<int64_t> ignored = std::nullopt);

// The examples of the given indices, in that order.
Dataset take(const Dataset& dataset, std::span<const uint32_t> examples);

}  // namespace arbalest
