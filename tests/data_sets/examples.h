// Data sets of a few examples whose values tell which example they are.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"

namespace arbalest {

// n examples of one float feature; example i has the input i and the label i % classes.
inline Dataset numbered(int64_t n, int64_t classes = 10) {
  std::vector<float> inputs;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < n; ++i) {
    inputs.push_back(static_cast<float>(i));
    labels.push_back(i % classes);
  }
  return make_dataset("numbered", {{"x", HostTensor::f32({n, 1}, inputs)}}, {"y", HostTensor::i64({n}, labels)});
}

template <class T>
HostTensor tensor_of(DataType dtype, const Dims& dims, const std::vector<T>& values) {
  HostTensor tensor(dtype, dims);
  std::copy(values.begin(), values.end(), tensor.as<T>().begin());
  return tensor;
}

}  // namespace arbalest
