#include "onnx_import/external_layout.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "graph/base/error.h"

namespace arbalest {
namespace {

constexpr uint64_t kMaxAlignment = 64 << 10;  // ONNX suggests whole pages, on Windows 64 KiB, for memory mapping
constexpr size_t kChunkBytes = 1 << 20;

uint64_t alignment_of(uint64_t offset) {
  return offset == 0 ? kMaxAlignment : std::min(kMaxAlignment, uint64_t{1} << std::countr_zero(offset));
}

}  // namespace

size_t ExternalLayout::add(ExternalRegion region, const HostTensor* changed) {
  file_order_.emplace(region.file, file_order_.size());
  regions_.push_back({std::move(region), changed});
  return regions_.size() - 1;
}

void ExternalLayout::place() {
  std::vector<Region*> order;
  for (Region& r : regions_) order.push_back(&r);
  std::stable_sort(order.begin(), order.end(), [&](const Region* a, const Region* b) {
    return std::tuple(file_order_.at(a->source.file), a->source.offset) <
           std::tuple(file_order_.at(b->source.file), b->source.offset);
  });

  // First the stretches and which of them each region lies in, since a stretch may still grow; then the offsets.
  std::vector<size_t> stretch_of(order.size());
  constexpr size_t kNone = static_cast<size_t>(-1);
  size_t unchanged = kNone;  // the last stretch of unchanged bytes
  for (size_t i = 0; i < order.size(); ++i) {
    const ExternalRegion& source = order[i]->source;
    if (order[i]->changed == nullptr && unchanged != kNone) {
      ExternalRegion& last = stretches_[unchanged].source;
      if (last.file == source.file && source.offset < last.offset + last.length) {
        last.length = std::max(last.length, source.offset + source.length - last.offset);
        stretch_of[i] = unchanged;
        continue;
      }
    }
    stretch_of[i] = stretches_.size();
    if (order[i]->changed == nullptr) unchanged = stretches_.size();
    stretches_.push_back({source, order[i]->changed});
  }

  uint64_t end = 0;
  for (Stretch& s : stretches_) {
    const uint64_t alignment = alignment_of(s.source.offset);
    s.new_offset = (end + alignment - 1) / alignment * alignment;
    end = s.new_offset + s.source.length;
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const Stretch& s = stretches_[stretch_of[i]];
    order[i]->new_offset = s.new_offset + (order[i]->source.offset - s.source.offset);
  }
}

void ExternalLayout::write(AtomicFile& file) const {
  uint64_t end = 0;
  std::vector<std::byte> chunk;
  for (const Stretch& s : stretches_) {
    chunk.assign(s.new_offset - end, std::byte{0});
    file.write(chunk);
    end = s.new_offset + s.source.length;
    if (s.changed != nullptr) {
      ensure(s.changed->bytes.size() == s.source.length,
             "external data: a new value has another size than the old one");
      file.write(s.changed->bytes);
      continue;
    }
    for (uint64_t done = 0; done < s.source.length; done += chunk.size()) {
      chunk.resize(std::min<uint64_t>(kChunkBytes, s.source.length - done));
      read_external_data(s.source, done, chunk);
      file.write(chunk);
    }
  }
}

}  // namespace arbalest
