// Float tensors that look like weights and are none: what a module computes once, as a buffer, and an exporter writes
// among its weights. Sinusoidal position embeddings ("Attention Is All You Need", section 3.5), the tables and
// frequencies of rotary position embeddings (RoFormer, section 3.4.2), masks, and fills that
// an exporter lifted.
//
// Tensors are float32 or float64.
#pragma once

#include <string>
#include <unordered_set>

#include "graph/host_tensor.h"
#include "onnx_import/flat_graph.h"

namespace arbalest {

// Whether every column of a table of positions x features (axes of size 1 do not count) is a sine of amplitude 1: four
// positions at least, and at least one column whose frequency and amplitude the values tell.
bool is_sinusoidal_table(const HostTensor& t);

// 1, 0.1, 0.01, ... or 1, 2, 4, ...: positive; descending from at most 1, or each the same multiple of the one before.
bool are_frequencies(const HostTensor& t);

// What is added to scores or multiplied with them: infinite or near the end of the floats somewhere, or nothing but 0
// and one number of at least 100.
bool is_mask(const HostTensor& t);

// Nothing but 0 and 1, and both of them, along two axes or more.
bool is_zeros_and_ones(const HostTensor& t);

// Whether all elements are the same.
bool is_uniform(const HostTensor& t);

// Which values of the main graph are read as angles only: by Sin and Cos, seen through products and through nodes that
// move them.
class Angles {
 public:
  explicit Angles(const FlatGraph& graph);
  // Whether all that the node makes is an angle, or a sine or cosine of its input.
  bool holds(const FlatNode& node) const;

 private:
  std::unordered_set<std::string> names_;
};

}  // namespace arbalest
