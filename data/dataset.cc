#include "data/dataset.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "data/allocation.h"

namespace arbalest {
namespace {

HostTensor converted(HostTensor values, DataType dtype) {
  if (values.dtype == dtype) return values;
  check_memory(static_cast<double>(checked_bytes(dtype, values.dims)));
  return values.to(dtype);
}

void check_columns(const std::vector<Column>& inputs, const Column& labels) {
  if (inputs.empty()) throw Error(ErrorKind::io, "has no input");
  std::vector<const Column*> columns{&labels};
  for (const Column& input : inputs) columns.push_back(&input);
  for (const Column* column : columns) {
    const Dims& dims = column->values.dims;
    if (dims.empty()) throw Error(ErrorKind::io, "'{}' is a scalar; its first axis must be the examples", column->name);
    if (dims[0] != labels.values.dims[0]) {
      throw Error(ErrorKind::io, "'{}' has {} examples, '{}' has {}", column->name, dims[0], labels.name,
                  labels.values.dims[0]);
    }
    if (element_count(dims) == 0) {
      throw Error(ErrorKind::io, "'{}' ({}) has no values", column->name, to_string(dims));
    }
    if (dims[0] > std::numeric_limits<uint32_t>::max()) {
      throw Error(ErrorKind::io, "{} examples, at most {} fit", dims[0], std::numeric_limits<uint32_t>::max());
    }
  }
}

int64_t count_classes(const HostTensor& labels) {
  const std::span<const int64_t> values = labels.as<int64_t>();
  const int64_t greatest = *std::max_element(values.begin(), values.end());
  if (greatest == std::numeric_limits<int64_t>::max()) throw Error(ErrorKind::io, "label {} is no class", greatest);
  return std::max<int64_t>(0, greatest + 1);
}

HostTensor rows(const HostTensor& from, std::span<const uint32_t> examples) {
  Dims dims = from.dims;
  dims[0] = static_cast<int64_t>(examples.size());
  HostTensor to = allocate_tensor(from.dtype, dims);
  const size_t row = from.bytes.size() / static_cast<size_t>(from.dims[0]);
  for (size_t i = 0; i < examples.size(); ++i) {
    std::memcpy(to.bytes.data() + i * row, from.bytes.data() + examples[i] * row, row);
  }
  return to;
}

}  // namespace

Dataset make_dataset(std::string name, std::vector<Column> inputs, Column labels) {
  try {
    check_columns(inputs, labels);
    for (Column& input : inputs) {
      if (input.values.dtype != DataType::u8) input.values = converted(std::move(input.values), DataType::f32);
    }
    const DataType label_type = is_float(labels.values.dtype) ? DataType::f32 : DataType::i64;
    labels.values = converted(std::move(labels.values), label_type);
    Dims& dims = labels.values.dims;
    if (label_type == DataType::i64 && dims.size() == 2 && dims[1] == 1) dims.pop_back();
    const int64_t classes = label_type == DataType::i64 ? count_classes(labels.values) : 0;
    return {std::move(name), std::move(inputs), std::move(labels), classes};
  } catch (const Error& e) {
    throw e.within(name);
  }
}

void check_labels(const Dataset& dataset, int64_t classes, std::optional<int64_t> ignored) {
  if (!dataset.has_classes()) {
    throw Error(ErrorKind::io, "{}: labels are float32 targets; a model of {} classes needs integers", dataset.name,
                classes);
  }
  const std::span<const int64_t> values = dataset.labels.values.as<int64_t>();
  const auto bad = std::find_if(values.begin(), values.end(),
                                [&](int64_t label) { return label != ignored && (label < 0 || label >= classes); });
  if (bad == values.end()) return;
  throw Error(ErrorKind::io, "{}: label {} at example {}: the model has {} classes (0 to {})", dataset.name, *bad,
              (bad - values.begin()) / dataset.labels.sample_elements(), classes, classes - 1);
}

Dataset take(const Dataset& dataset, std::span<const uint32_t> examples) {
  std::vector<Column> inputs;
  for (const Column& input : dataset.inputs) inputs.push_back({input.name, rows(input.values, examples)});
  return make_dataset(dataset.name, std::move(inputs), {dataset.labels.name, rows(dataset.labels.values, examples)});
}

}  // namespace arbalest
