// A batch: examples of a data set, normalised, side by side in memory that is allocated once and filled many times.
//
// Shapes: inputs[i] is size x the sample of the data set's input i, float32, row-major; labels are size x the sample of
// the data set's labels, int64 or float32.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "data/normalisation.h"

namespace arbalest {

struct Batch {
  std::vector<HostTensor> inputs;
  HostTensor labels;

  int64_t size() const { return labels.dims[0]; }
};

uint64_t batch_bytes(const Dataset& dataset, int64_t size);
Batch make_batch(const Dataset& dataset, int64_t size);  // io error when memory does not suffice

// Writes examples into the rows of a batch. The data set must outlive it.
class BatchFiller {
 public:
  BatchFiller(const Dataset& dataset, const Normalisation& normalisation);

  void fill(Batch& batch, int64_t row, uint32_t example) const;  // allocates nothing

 private:
  // y = (x - shift) * scale with x as stored, per channel of `length` elements
  struct Conversion {
    std::vector<float> shift, scale;
    size_t length;
  };

  const Dataset& dataset_;
  std::vector<Conversion> conversions_;
};

}  // namespace arbalest
