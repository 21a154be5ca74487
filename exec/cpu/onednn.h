// oneDNN behind values: memory descriptions, primitive descriptions and calls bound to addresses.
//
// A PrimitiveDesc is a chosen implementation; it is created for a number of threads, which is also the number that runs
// it. A BoundCall holds a primitive with all its arguments: run() makes no choice. The scratchpad is the caller's.
// oneDNN keeps the arguments of a call in a hash map: each run() allocates a few small blocks inside the library, which
// its interface offers no way around.
//
// The library's cache of primitives takes descriptions that differ only in the stride of an axis of size 1 as equal,
// and so may answer with what another layout got (nchw for nhwc where C is 1). Hence no kernel asks for a mixture of
// layouts.
//
// Errors: device, when memory does not suffice; internal, for any other refusal while running.
#pragma once

#include <dnnl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/layout.h"

namespace arbalest::onednn {

// Empty for types that the library does not have.
std::optional<dnnl_data_type_t> data_type(DataType type);

dnnl_memory_desc_t describe(const Layout& layout, dnnl_data_type_t type);
// The library may choose the layout.
dnnl_memory_desc_t any_layout(const Dims& dims, dnnl_data_type_t type);
// Empty where the description is more than strides and blocks.
std::optional<Layout> layout_of(const dnnl_memory_desc_t& desc);

class PrimitiveDesc {
 public:
  // Empty when the library has no implementation. `forward` is the hint that backward primitives need.
  static std::optional<PrimitiveDesc> create(const_dnnl_op_desc_t op, int threads, const PrimitiveDesc* forward);
  static std::optional<PrimitiveDesc> create_reorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to,
                                                     int threads);

  std::string implementation() const;  // "jit:avx2", "brgconv:avx512_core", "x64:gemm:jit", "ref:any"
  bool is_reference() const;           // slow code for what the library does not care about
  dnnl_memory_desc_t memory(dnnl_query_t what, int index = 0) const;
  size_t scratchpad_bytes() const;
  int threads() const { return threads_; }
  const_dnnl_primitive_desc_t get() const { return desc_.get(); }

 private:
  std::shared_ptr<dnnl_primitive_desc> desc_;
  int threads_ = 1;
};

// An executable primitive; copies share it. Several threads may run it at once.
class Primitive {
 public:
  explicit Primitive(PrimitiveDesc desc);
  const PrimitiveDesc& desc() const { return desc_; }
  dnnl_primitive_t get() const { return primitive_.get(); }

 private:
  PrimitiveDesc desc_;
  std::shared_ptr<dnnl_primitive> primitive_;
};

struct Argument {
  int name;  // DNNL_ARG_...
  dnnl_memory_desc_t desc;
  void* address;
};

class BoundCall {
 public:
  BoundCall(const Primitive& primitive, const std::vector<Argument>& arguments, void* scratchpad);
  void run() const;

 private:
  struct DestroyMemory {
    void operator()(dnnl_memory* m) const { dnnl_memory_destroy(m); }
  };
  void add(const Argument& argument);

  Primitive primitive_;
  std::vector<std::unique_ptr<dnnl_memory, DestroyMemory>> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace arbalest::onednn
