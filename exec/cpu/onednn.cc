#include "exec/cpu/onednn.h"

#include <algorithm>

#include "graph/base/error.h"

// Of omp.h, which clang does not have.
extern "C" {
void omp_set_num_threads(int threads);
int omp_get_max_threads();
}

namespace arbalest::onednn {
namespace {

void check_status(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  if (status == dnnl_out_of_memory) throw Error(ErrorKind::device, "oneDNN: not enough memory to {}", what);
  throw Error(ErrorKind::internal, "oneDNN: cannot {}, status {}", what, static_cast<int>(status));
}

// The CPU and its stream, which only forwards calls; both are stateless and shared by all threads.
struct Cpu {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;

  Cpu() {
    check_status(dnnl_engine_create(&engine, dnnl_cpu, 0), "create an engine");
    check_status(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "create a stream");
  }
};

const Cpu& cpu() {
  static const Cpu instance;
  return instance;
}

// Primitives are built for the OpenMP threads of the thread that creates them.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

class Attributes {
 public:
  Attributes() {
    check_status(dnnl_primitive_attr_create(&attributes_), "create attributes");
    check_status(dnnl_primitive_attr_set_scratchpad_mode(attributes_, dnnl_scratchpad_mode_user),
                 "set the scratchpad mode");
  }
  ~Attributes() { dnnl_primitive_attr_destroy(attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const_dnnl_primitive_attr_t get() const { return attributes_; }

 private:
  dnnl_primitive_attr_t attributes_ = nullptr;
};

// Takes over what a creating function returned; empty when it said that there is no implementation.
std::shared_ptr<dnnl_primitive_desc> take(dnnl_status_t status, dnnl_primitive_desc_t desc) {
  if (status == dnnl_unimplemented || status == dnnl_invalid_arguments) return nullptr;
  check_status(status, "choose an implementation");
  return {desc, [](dnnl_primitive_desc_t d) { dnnl_primitive_desc_destroy(d); }};
}

}  // namespace

std::optional<dnnl_data_type_t> data_type(DataType type) {
  switch (type) {
    case DataType::f32:
      return dnnl_f32;
    case DataType::f16:
      return dnnl_f16;
    case DataType::bf16:
      return dnnl_bf16;
    case DataType::i32:
      return dnnl_s32;
    case DataType::i8:
      return dnnl_s8;
    case DataType::u8:
      return dnnl_u8;
    default:
      return std::nullopt;
  }
}

dnnl_memory_desc_t describe(const Layout& layout, dnnl_data_type_t type) {
  ensure(layout.rank() <= DNNL_MAX_NDIMS && layout.blocks.size() <= DNNL_MAX_NDIMS,
         "oneDNN: layout {} has too many axes", layout.text());
  dnnl_memory_desc_t desc{};
  desc.ndims = layout.rank();
  desc.data_type = type;
  desc.format_kind = dnnl_blocked;
  std::copy(layout.dims.begin(), layout.dims.end(), desc.dims);
  std::copy(layout.padded_dims.begin(), layout.padded_dims.end(), desc.padded_dims);
  dnnl_blocking_desc_t& blocking = desc.format_desc.blocking;
  std::copy(layout.strides.begin(), layout.strides.end(), blocking.strides);
  for (const auto& [axis, size] : layout.blocks) {
    blocking.inner_idxs[blocking.inner_nblks] = axis;
    blocking.inner_blks[blocking.inner_nblks++] = size;
  }
  return desc;
}

dnnl_memory_desc_t any_layout(const Dims& dims, dnnl_data_type_t type) {
  dnnl_memory_desc_t desc;
  check_status(
      dnnl_memory_desc_init_by_tag(&desc, static_cast<int>(dims.size()), dims.data(), type, dnnl_format_tag_any),
      "describe memory");
  return desc;
}

std::optional<Layout> layout_of(const dnnl_memory_desc_t& desc) {
  if (desc.format_kind != dnnl_blocked || desc.offset0 != 0 || desc.extra.flags != dnnl_memory_extra_flag_none) {
    return std::nullopt;
  }
  const dnnl_blocking_desc_t& blocking = desc.format_desc.blocking;
  Layout layout;
  layout.dims.assign(desc.dims, desc.dims + desc.ndims);
  layout.padded_dims.assign(desc.padded_dims, desc.padded_dims + desc.ndims);
  layout.strides.assign(blocking.strides, blocking.strides + desc.ndims);
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    layout.blocks.emplace_back(static_cast<int>(blocking.inner_idxs[i]), blocking.inner_blks[i]);
  }
  return layout;
}

std::optional<PrimitiveDesc> PrimitiveDesc::create(const_dnnl_op_desc_t op, int threads, const PrimitiveDesc* forward) {
  const ThreadCount scope(threads);
  const Attributes attributes;
  dnnl_primitive_desc_t desc = nullptr;
  const dnnl_status_t status =
      dnnl_primitive_desc_create(&desc, op, attributes.get(), cpu().engine, forward ? forward->get() : nullptr);
  PrimitiveDesc result;
  result.desc_ = take(status, desc);
  result.threads_ = threads;
  if (!result.desc_) return std::nullopt;
  return result;
}

std::optional<PrimitiveDesc> PrimitiveDesc::create_reorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to,
                                                           int threads) {
  const ThreadCount scope(threads);
  const Attributes attributes;
  dnnl_primitive_desc_t desc = nullptr;
  const dnnl_status_t status =
      dnnl_reorder_primitive_desc_create(&desc, &from, cpu().engine, &to, cpu().engine, attributes.get());
  PrimitiveDesc result;
  result.desc_ = take(status, desc);
  result.threads_ = threads;
  if (!result.desc_) return std::nullopt;
  return result;
}

std::string PrimitiveDesc::implementation() const {
  const char* name = "";
  check_status(dnnl_primitive_desc_query(desc_.get(), dnnl_query_impl_info_str, 0, &name), "name an implementation");
  return name;
}

bool PrimitiveDesc::is_reference() const { return implementation().rfind("ref", 0) == 0; }

dnnl_memory_desc_t PrimitiveDesc::memory(dnnl_query_t what, int index) const {
  const dnnl_memory_desc_t* desc = dnnl_primitive_desc_query_md(desc_.get(), what, index);
  ensure(desc != nullptr, "oneDNN: {} has no memory {}", implementation(), static_cast<int>(what));
  return *desc;
}

size_t PrimitiveDesc::scratchpad_bytes() const {
  const dnnl_memory_desc_t* desc = dnnl_primitive_desc_query_md(desc_.get(), dnnl_query_scratchpad_md, 0);
  return desc ? dnnl_memory_desc_get_size(desc) : 0;
}

Primitive::Primitive(PrimitiveDesc desc) : desc_(std::move(desc)) {
  const ThreadCount scope(desc_.threads());
  dnnl_primitive_t primitive = nullptr;
  check_status(dnnl_primitive_create(&primitive, desc_.get()), "create a primitive");
  primitive_ = {primitive, [](dnnl_primitive_t p) { dnnl_primitive_destroy(p); }};
}

BoundCall::BoundCall(const Primitive& primitive, const std::vector<Argument>& arguments, void* scratchpad)
    : primitive_(primitive) {
  for (const Argument& a : arguments) add(a);
  if (primitive.desc().scratchpad_bytes() > 0) {
    add({DNNL_ARG_SCRATCHPAD, primitive.desc().memory(dnnl_query_scratchpad_md), scratchpad});
  }
}

void BoundCall::add(const Argument& argument) {
  dnnl_memory_t memory = nullptr;
  check_status(dnnl_memory_create(&memory, &argument.desc, cpu().engine, argument.address), "bind an argument");
  memories_.emplace_back(memory);
  arguments_.push_back({argument.name, memory});
}

void BoundCall::run() const {
  omp_set_num_threads(primitive_.desc().threads());  // some implementations ask again while they run
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), cpu().stream, static_cast<int>(arguments_.size()), arguments_.data());
  check_status(status, "run a primitive");
}

}  // namespace arbalest::onednn
