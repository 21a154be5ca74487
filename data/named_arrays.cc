#include "data/named_arrays.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

namespace arbalest {
namespace {

using Arrays = std::map<std::string, std::string>;  // column -> array

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool is_label(const std::string& column) {
  constexpr std::string_view kNames[] = {"y", "label", "labels", "target", "targets"};
  return std::find(std::begin(kNames), std::end(kNames), column) != std::end(kNames);
}

[[noreturn]] void fail(const NpzFile& file, const std::string& what) {
  throw Error(ErrorKind::io, "{}: {}; its arrays are: {}; store x and y, or x_train, y_train, x_test and y_test",
              file.path(), what, file.names().empty() ? "none" : fmt::format("{}", fmt::join(file.names(), ", ")));
}

DatasetArrays choose(const NpzFile& file, const Arrays& arrays, const std::string& split) {
  DatasetArrays chosen;
  for (const auto& [column, array] : arrays) {
    if (is_label(column)) {
      if (!chosen.labels.array.empty()) {
        fail(file, fmt::format("'{}' and '{}' could both be the labels", chosen.labels.array, array));
      }
      chosen.labels = {column, array};
    } else if (column == "x" || !arrays.count("x")) {
      chosen.inputs.push_back({column, array});
    }
  }
  if (chosen.labels.array.empty()) fail(file, "no labels for the " + split + " split");
  if (chosen.inputs.empty()) fail(file, "no input for the " + split + " split");
  return chosen;
}

void check_same_columns(const NpzFile& file, const SplitArrays& splits) {
  const auto columns = [](const DatasetArrays& arrays) {
    std::vector<std::string> names{arrays.labels.column};
    for (const NamedArray& input : arrays.inputs) names.push_back(input.column);
    return names;
  };
  if (columns(splits.train) != columns(*splits.test)) fail(file, "the training and the test split have other arrays");
}

}  // namespace

SplitArrays find_split_arrays(const NpzFile& file) {
  Arrays train, test;
  for (const std::string& array : file.names()) {
    std::string column = lower(array);
    Arrays* split = &train;
    if (column.ends_with("_test")) {
      split = &test;
      column.resize(column.size() - 5);
    } else if (column.ends_with("_train")) {
      column.resize(column.size() - 6);
    }
    const auto [at, is_new] = split->emplace(column, array);
    if (!is_new) fail(file, fmt::format("'{}' and '{}' have the same meaning", at->second, array));
  }
  SplitArrays splits{choose(file, train, "training"), std::nullopt};
  if (!test.empty()) {
    splits.test = choose(file, test, "test");
    check_same_columns(file, splits);
  }
  return splits;
}

Dataset read_dataset(const NpzFile& file, const std::string& name, const DatasetArrays& arrays) {
  std::vector<Column> inputs;
  for (const NamedArray& input : arrays.inputs) {
    HostTensor values = file.read(input.array);
    if (values.dtype == DataType::u8) values = with_channel_axis(std::move(values));
    inputs.push_back({input.column, std::move(values)});
  }
  return make_dataset(name, std::move(inputs), {arrays.labels.column, file.read(arrays.labels.array)});
}

HostTensor with_channel_axis(HostTensor images) {
  if (images.dims.size() == 3) images.dims.insert(images.dims.begin() + 1, 1);
  return images;
}

}  // namespace arbalest
