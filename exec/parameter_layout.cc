#include "exec/parameter_layout.h"

#include <cstring>

#include "exec/memory_plan.h"

namespace arbalest {
namespace {

void reorder(const KernelSet& kernels, const Layout& from, const Layout& to, DataType type, const void* source,
             void* target) {
  const Prepared prepared = kernels.reorder(from, to, type, 1);
  AlignedBytes scratch(prepared.scratch_bytes);
  void* inputs[] = {const_cast<void*>(source)};
  void* outputs[] = {target};
  prepared.bind({inputs, outputs, scratch.data(), nullptr})();
}

}  // namespace

size_t ParameterLayout::add(const std::string& name, DataType dtype, const Layout& layout) {
  const size_t offset = bytes_;
  index_[name] = slots_.size();
  slots_.push_back({name, dtype, layout, offset});
  bytes_ = offset + aligned_bytes(layout.bytes(dtype));
  return offset;
}

const ParameterSlot* ParameterLayout::find(const std::string& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &slots_[it->second];
}

void write_slot(const ParameterSlot& slot, const HostTensor& value, std::byte* region, const KernelSet& kernels) {
  ensure(value.dims == slot.layout.dims, "{}: got {}, its slot holds {}", slot.name, to_string(value.dims),
         to_string(slot.layout.dims));
  const HostTensor converted = value.to(slot.dtype);
  reorder(kernels, Layout::row_major(value.dims), slot.layout, slot.dtype, converted.bytes.data(),
          region + slot.offset);
}

HostTensor read_slot(const ParameterSlot& slot, const std::byte* region, const KernelSet& kernels) {
  HostTensor value(slot.dtype, slot.layout.dims);
  reorder(kernels, slot.layout, Layout::row_major(value.dims), slot.dtype, region + slot.offset, value.bytes.data());
  return value;
}

}  // namespace arbalest
