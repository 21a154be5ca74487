// Which arrays of an .npz file make a data set, by their names.
//
// A name ending in _train or _test belongs to that split, any other to the training split. The labels are the array y,
// label, labels, target or targets. The input is the array x where there is one; otherwise every other array is an
// input of its name. Case does not matter. Errors: io, naming the arrays of the file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/npz.h"

namespace arbalest {

struct NamedArray {
  std::string column;  // "x"
  std::string array;   // "X_train"
};

struct DatasetArrays {
  std::vector<NamedArray> inputs;  // sorted by column
  NamedArray labels;
};

struct SplitArrays {
  DatasetArrays train;
  std::optional<DatasetArrays> test;
};

SplitArrays find_split_arrays(const NpzFile& file);
Dataset read_dataset(const NpzFile& file, const std::string& name, const DatasetArrays& arrays);

// N x H x W become N x 1 x H x W; other ranks stay.
HostTensor with_channel_axis(HostTensor images);

}  // namespace arbalest
