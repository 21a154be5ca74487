// A reorder is oneDNN's where the library has more than reference code for the pair of layouts, else a walk with a
// table of offsets for each axis, which does any layouts and any type.
#include <algorithm>
#include <cstring>

#include "exec/cpu/kernels/kernels.h"
#include "exec/cpu/onednn.h"
#include "exec/cpu/parallel.h"

namespace arbalest::cpu {
namespace {

// Offset of each index along an axis, in elements.
std::vector<int64_t> offsets_of(const Layout& layout, int axis) {
  const std::vector<Layout::Digit> digits = layout.digits(axis);
  std::vector<int64_t> offsets(static_cast<size_t>(layout.dims[static_cast<size_t>(axis)]), 0);
  for (size_t i = 0; i < offsets.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    for (size_t d = digits.size(); d-- > 0; rest /= digits[d].size)
      offsets[i] += rest % digits[d].size * digits[d].stride;
  }
  return offsets;
}

struct Axis {
  std::vector<int64_t> from, to;
};

// The axes from the slowest to the fastest in the target; all but the last make up the rows.
struct ReorderWalk {
  std::vector<Axis> outer;
  Axis inner;
  int64_t rows = 1;

  ReorderWalk(const Layout& from, const Layout& to) : inner{{0}, {0}} {
    for (const int axis : to.order()) outer.push_back({offsets_of(from, axis), offsets_of(to, axis)});
    if (outer.empty()) return;
    // The axis that is contiguous in the target runs innermost: that of its last inner block, if it has one.
    if (!to.blocks.empty()) {
      const std::vector<int> order = to.order();
      const auto last = std::find(order.begin(), order.end(), to.blocks.back().first) - order.begin();
      std::rotate(outer.begin() + last, outer.begin() + last + 1, outer.end());
    }
    inner = std::move(outer.back());
    outer.pop_back();
    for (const Axis& a : outer) rows *= static_cast<int64_t>(a.from.size());
  }
};

template <class T>
void copy_rows(const ReorderWalk& walk, const T* from, T* to, int64_t begin, int64_t end) {
  const size_t size = walk.inner.from.size();
  for (int64_t row = begin; row < end; ++row) {
    int64_t rest = row, from_offset = 0, to_offset = 0;
    for (size_t a = walk.outer.size(); a-- > 0;) {
      const auto count = static_cast<int64_t>(walk.outer[a].from.size());
      from_offset += walk.outer[a].from[static_cast<size_t>(rest % count)];
      to_offset += walk.outer[a].to[static_cast<size_t>(rest % count)];
      rest /= count;
    }
    for (size_t i = 0; i < size; ++i) to[to_offset + walk.inner.to[i]] = from[from_offset + walk.inner.from[i]];
  }
}

template <class T>
Prepared prepare_walk(const Layout& from, const Layout& to, int threads) {
  Prepared prepared;
  prepared.implementation = "walk";
  prepared.bind = [walk = std::make_shared<const ReorderWalk>(from, to), threads,
                   cleared = to.has_padding() ? static_cast<size_t>(to.elements()) * sizeof(T)
                                              : 0](const KernelArgs& a) -> BoundKernel {
    const T* source = static_cast<const T*>(a.inputs[0]);
    T* target = static_cast<T*>(a.outputs[0]);
    return [=] {
      if (cleared) std::memset(target, 0, cleared);
      parallel_for(threads, walk->rows,
                   [&](int64_t begin, int64_t end) { copy_rows(*walk, source, target, begin, end); });
    };
  };
  return prepared;
}

Prepared prepare_copy(size_t bytes) {
  Prepared prepared;
  prepared.implementation = "memcpy";
  prepared.bind = [bytes](const KernelArgs& a) -> BoundKernel {
    if (bytes == 0) return [] {};
    return [bytes, from = a.inputs[0], to = a.outputs[0]] { std::memcpy(to, from, bytes); };
  };
  return prepared;
}

std::optional<onednn::PrimitiveDesc> library_reorder(const Layout& from, const Layout& to, DataType type, int threads) {
  const auto library_type = onednn::data_type(type);
  if (!library_type || from.rank() == 0 || from.rank() > DNNL_MAX_NDIMS) return std::nullopt;
  auto desc = onednn::PrimitiveDesc::create_reorder(onednn::describe(from, *library_type),
                                                    onednn::describe(to, *library_type), threads);
  if (desc && (desc->is_reference() || desc->implementation().rfind("simple", 0) == 0)) return std::nullopt;
  return desc;
}

Prepared prepare_library(const onednn::PrimitiveDesc& desc) {
  Prepared prepared;
  prepared.implementation = desc.implementation();
  prepared.scratch_bytes = desc.scratchpad_bytes();
  prepared.bind = [primitive = onednn::Primitive(desc)](const KernelArgs& a) -> BoundKernel {
    const onednn::PrimitiveDesc& d = primitive.desc();
    const auto call = std::make_shared<const onednn::BoundCall>(
        primitive,
        std::vector<onednn::Argument>{{DNNL_ARG_FROM, d.memory(dnnl_query_src_md), a.inputs[0]},
                                      {DNNL_ARG_TO, d.memory(dnnl_query_dst_md), a.outputs[0]}},
        a.scratch);
    return [call] { call->run(); };
  };
  return prepared;
}

}  // namespace

Prepared prepare_reorder(const Layout& from, const Layout& to, DataType type, int threads) {
  ensure(from.dims == to.dims, "reorder of {} to {}", to_string(from.dims), to_string(to.dims));
  if (from == to || to.elements() == 0) return prepare_copy(to.bytes(type));
  if (const auto desc = library_reorder(from, to, type, threads)) return prepare_library(*desc);
  switch (size_of(type)) {
    case 1:
      return prepare_walk<uint8_t>(from, to, threads);
    case 2:
      return prepare_walk<uint16_t>(from, to, threads);
    case 4:
      return prepare_walk<uint32_t>(from, to, threads);
    default:
      return prepare_walk<uint64_t>(from, to, threads);
  }
}

}  // namespace arbalest::cpu
