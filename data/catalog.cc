#include "data/catalog.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>

#include "data/idx.h"
#include "data/named_arrays.h"
#include "data/npz.h"
#include "data/order.h"

namespace arbalest {
namespace {

constexpr std::string_view kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";
constexpr uint64_t kHoldoutStream = ~uint64_t{0};  // no epoch has this number

// DIR/train-images-idx3-ubyte, or with a dot before idx as some archives have it, or with .gz.
std::optional<std::string> find_idx(const std::string& folder, const std::string& stem, const std::string& kind) {
  for (const char* separator : {"-", "."}) {
    for (const char* suffix : {"", ".gz"}) {
      std::string path = folder + "/" + stem + separator + kind + suffix;
      if (std::filesystem::exists(path)) return path;
    }
  }
  return std::nullopt;
}

std::optional<Dataset> read_idx_split(const std::string& name, const std::string& folder, const std::string& prefix) {
  const std::optional<std::string> images = find_idx(folder, prefix + "-images", "idx3-ubyte");
  const std::optional<std::string> labels = find_idx(folder, prefix + "-labels", "idx1-ubyte");
  if (!images && !labels) return std::nullopt;
  if (!images || !labels) {
    throw Error(ErrorKind::io, "{}: {} is there, {}-{} is not", folder, images ? *images : *labels, prefix,
                images ? "labels-idx1-ubyte" : "images-idx3-ubyte");
  }
  std::vector<Column> inputs{{"images", with_channel_axis(read_idx(*images))}};
  return make_dataset(name, std::move(inputs), {"labels", read_idx(*labels)});
}

DataSplits hold_out(const Dataset& all, const DataOptions& options) {
  if (!(options.holdout > 0 && options.holdout < 1)) {
    throw Error(ErrorKind::usage, "--holdout {}: {} has no test split, so the fraction must be between 0 and 1",
                options.holdout, all.name);
  }
  if (all.size() < 2) {
    throw Error(ErrorKind::io, "{}: has {} example; at least 2 are needed, to hold one out for evaluation", all.name,
                all.size());
  }
  const auto wanted = static_cast<uint32_t>(std::lround(options.holdout * all.size()));
  const uint32_t held_out = std::clamp(wanted, 1u, all.size() - 1);
  std::vector<uint32_t> examples(all.size());
  fill_permutation(examples, options.seed, kHoldoutStream);
  const std::span<uint32_t> test(examples.data(), held_out), train(examples.data() + held_out, all.size() - held_out);
  std::sort(test.begin(), test.end());
  std::sort(train.begin(), train.end());
  return {take(all, train), take(all, test), true};
}

std::string with_commas(uint32_t number) {
  std::string text = std::to_string(number);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), 1, ',');
  return text;
}

void check_same_samples(const DataSplits& data) {
  const auto check = [&](const Column& train, const Column& test) {
    if (train.sample() == test.sample() && train.values.dtype == test.values.dtype) return;
    throw Error(ErrorKind::io, "{}: '{}' has samples of {} {} for training and of {} {} for testing", data.train.name,
                train.name, name_of(train.values.dtype), to_string(train.sample()), name_of(test.values.dtype),
                to_string(test.sample()));
  };
  for (size_t i = 0; i < data.train.inputs.size(); ++i) check(data.train.inputs[i], data.test.inputs[i]);
  check(data.train.labels, data.test.labels);
}

DataSplits with_test_split(Dataset train, std::optional<Dataset> test, const DataOptions& options) {
  if (!test) return hold_out(train, options);
  DataSplits data{std::move(train), std::move(*test), false};
  check_same_samples(data);
  return data;
}

DataSplits open_idx_folder(const std::string& name, const std::string& folder, const DataOptions& options) {
  std::optional<Dataset> train = read_idx_split(name, folder, "train");
  if (!train) {
    throw Error(ErrorKind::io,
                "{}: no data set in this folder; expected are train-images-idx3-ubyte, train-labels-idx1-ubyte, "
                "t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, plain or with .gz",
                folder);
  }
  return with_test_split(std::move(*train), read_idx_split(name + " (test)", folder, "t10k"), options);
}

DataSplits open_npz(const std::string& path, const DataOptions& options) {
  const NpzFile file(path);
  const SplitArrays arrays = find_split_arrays(file);
  std::optional<Dataset> test;
  if (arrays.test) test = read_dataset(file, path + " (test)", *arrays.test);
  return with_test_split(read_dataset(file, path, arrays.train), std::move(test), options);
}

DataSplits open_fashion_mnist(const DataOptions& options) {
  const std::string folder(kFashionMnistFolder);
  if (!std::filesystem::is_directory(folder)) {
    throw Error(ErrorKind::io,
                "fashion-mnist: {} does not exist; install it with 'apt-get install dataset-fashion-mnist', or name "
                "its folder: fashion-mnist:DIR",
                folder);
  }
  return open_idx_folder("fashion-mnist", folder, options);
}

}  // namespace

DataSplits open_data(const std::string& name_or_path, const DataOptions& options) {
  if (name_or_path == "fashion-mnist") return open_fashion_mnist(options);
  if (std::filesystem::is_directory(name_or_path)) return open_idx_folder(name_or_path, name_or_path, options);
  if (std::filesystem::exists(name_or_path)) {
    if (name_or_path.ends_with(".npz")) return open_npz(name_or_path, options);
    throw Error(ErrorKind::usage, "{}: is neither a folder nor an .npz file", name_or_path);
  }
  for (const std::string name : {"fashion-mnist", "mnist"}) {
    if (!name_or_path.starts_with(name + ":")) continue;
    const std::string folder = name_or_path.substr(name.size() + 1);
    if (std::filesystem::is_directory(folder)) return open_idx_folder(name, folder, options);
    throw Error(ErrorKind::usage, "{}: folder '{}' does not exist", name, folder);
  }
  if (name_or_path == "mnist") throw Error(ErrorKind::usage, "mnist: say in which folder its files are: mnist:DIR");
  throw Error(ErrorKind::usage, "{}: no such data set; give fashion-mnist, mnist:DIR, a folder, or an .npz file",
              name_or_path);
}

std::string describe(const DataSplits& data) {
  const Dataset& train = data.train;
  std::string samples;
  for (const Column& input : train.inputs) samples += (samples.empty() ? "" : ", ") + to_string(input.sample());
  const std::string labels = train.has_classes()
                                 ? fmt::format("in {} classes", std::max(train.classes, data.test.classes))
                                 : fmt::format("with {} targets", element_count(train.labels.sample()));
  return fmt::format("{}: {} + {} examples of {} {}{}", train.name, with_commas(train.size()),
                     with_commas(data.test.size()), samples, labels,
                     data.held_out ? "; the latter held out for evaluation" : "");
}

}  // namespace arbalest
