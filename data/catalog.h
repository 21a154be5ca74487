// Data sets by name or path: a training split and a test split.
//
//   fashion-mnist           the folder of Debian's package dataset-fashion-mnist
//   fashion-mnist:DIR, mnist:DIR, DIR
//                           a folder with train-images-idx3-ubyte, train-labels-idx1-ubyte and, for the test split,
//                           t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte, each plain or with .gz
//   FILE.npz                arrays x_train, y_train, x_test, y_test, or x, y, or inputs by name; labels are the array
//                           y, label, labels, target or targets
//
// Images get a channel axis: N x 28 x 28 of uint8 become N x 1 x 28 x 28. Where the test split is absent, a fraction of
// the examples chosen by a seed is held out for it. Errors: usage for a name that is none, io for what a file lacks.
#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.h"

namespace arbalest {

struct DataOptions {
  double holdout = 0.1;  // in (0, 1)
  uint64_t seed = 1;     // chooses the examples held out
};

struct DataSplits {
  Dataset train;
  Dataset test;
  bool held_out = false;  // the test split was taken from the training examples
};

DataSplits open_data(const std::string& name_or_path, const DataOptions& options = {});

// "fashion-mnist: 60,000 + 10,000 examples of 1 x 28 x 28 in 10 classes"
std::string describe(const DataSplits& data);

}  // namespace arbalest
