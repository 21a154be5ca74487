// Whether all elements of a tensor are one number: how exporters merge scales and biases, and how models without
// trained weights are written.
#pragma once

#include <cstring>

#include "graph/host_tensor.h"

namespace arbalest {

inline bool has_equal_elements(const HostTensor& tensor) {
  const size_t size = size_of(tensor.dtype);
  for (size_t at = size; at < tensor.bytes.size(); at += size)
    if (std::memcmp(&tensor.bytes[0], &tensor.bytes[at], size) != 0) return false;
  return true;
}

}  // namespace arbalest
