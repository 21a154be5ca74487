// Compares what a model computed with what a reference computed, quantity by quantity: outputs, gradients, losses, ...
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/host_tensor.h"

namespace arbalest::tools {

using Tensors = std::map<std::string, HostTensor>;

// The tensors whose name begins with `prefix`, by the rest of the name.
Tensors with_prefix(const Tensors& all, const std::string& prefix);

// How far a tensor may be off.
struct Tolerance {
  // The measure of the golden models: max |got - want| / (max |want| + floor), floor = 0.01 of the largest of all
  // tensors of the quantity. Otherwise element by element: |got - want| / (absolute + relative |want|), at most 1.
  bool of_tensor = true;
  double relative = 1e-5, absolute = 0;
};

class Comparison {
 public:
  Comparison(std::string quantity, Tolerance tolerance) : quantity_(std::move(quantity)), tolerance_(tolerance) {}

  void set_floor(const Tensors& all);
  void add(const std::string& name, const HostTensor& got, const HostTensor& want);
  // Every tensor of `want`; a name that `got` lacks fails.
  void add_all(const Tensors& got, const Tensors& want);
  void fail(const std::string& name, const std::string& why) { failures_.push_back(name + ": " + why); }
  bool passes() const { return failures_.empty() && worst_ <= limit(); }
  bool empty() const { return count_ == 0 && failures_.empty(); }

  const std::string& quantity() const { return quantity_; }
  int count() const { return count_; }
  double worst() const { return worst_; }
  double limit() const { return tolerance_.of_tensor ? tolerance_.relative : 1; }
  const std::string& worst_name() const { return worst_name_; }
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  std::string quantity_;
  Tolerance tolerance_;
  double floor_ = 0, worst_ = 0;
  std::string worst_name_;
  int count_ = 0;
  std::vector<std::string> failures_;
};

// Prints a line for each comparison that has something to compare; whether all pass.
bool report(const std::vector<Comparison>& comparisons);

HostTensor scalar(double value);                        // float32
HostTensor list_of(const std::vector<double>& values);  // float32

}  // namespace arbalest::tools
