// Where each tensor of a flat region (parameters, gradients, running statistics) lies, and in which layout.
//
// The training plan decides it; every other plan of the model takes it as given. Gradients have the offsets of their
// parameters. Slots begin at multiples of 64 bytes; gaps and the padding of layouts stay zero, so that an update or a
// synchronisation may pass over the whole region at once.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "exec/kernel_set.h"
#include "exec/layout.h"
#include "graph/host_tensor.h"

namespace arbalest {

struct ParameterSlot {
  std::string name;
  DataType dtype = DataType::f32;
  Layout layout;
  size_t offset = 0;  // bytes
  size_t bytes() const { return layout.bytes(dtype); }
};

class ParameterLayout {
 public:
  size_t add(const std::string& name, DataType dtype, const Layout& layout);  // gives the offset
  const std::vector<ParameterSlot>& slots() const { return slots_; }
  const ParameterSlot* find(const std::string& name) const;
  size_t bytes() const { return bytes_; }

 private:
  std::vector<ParameterSlot> slots_;
  std::map<std::string, size_t> index_;
  size_t bytes_ = 0;
};

// A row-major tensor into its slot of a region, and back. Sizes must agree (internal error); types are converted.
void write_slot(const ParameterSlot& slot, const HostTensor& value, std::byte* region, const KernelSet& kernels);
HostTensor read_slot(const ParameterSlot& slot, const std::byte* region, const KernelSet& kernels);

}  // namespace arbalest
