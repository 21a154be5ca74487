// Where the external data of an exported model lie: one file, in the order of the input's data.
//
// A region is a stretch of an input data file that a tensor names. Unchanged regions that overlap stay one stretch; a
// changed one gets its own. Stretches are packed by (file in the order of first use, offset), each at a multiple of the
// greatest power of two (up to 64 KiB) that divides its old offset: a file packed with any alignment keeps its offsets.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "graph/base/atomic_file.h"
#include "graph/host_tensor.h"
#include "onnx_import/external_data.h"

namespace arbalest {

class ExternalLayout {
 public:
  // The region of one tensor, and its new value where there is one (already of the tensor's type). Returns its number.
  size_t add(ExternalRegion region, const HostTensor* changed);
  void place();  // after the last add()

  bool empty() const { return regions_.empty(); }
  size_t stretch_count() const { return stretches_.size(); }
  uint64_t offset(size_t number) const { return regions_[number].new_offset; }
  uint64_t length(size_t number) const { return regions_[number].source.length; }
  void write(AtomicFile& file) const;

 private:
  struct Region {
    ExternalRegion source;
    const HostTensor* changed;
    uint64_t new_offset = 0;
  };
  struct Stretch {
    ExternalRegion source;
    const HostTensor* changed;
    uint64_t new_offset = 0;
  };

  std::vector<Region> regions_;
  std::vector<Stretch> stretches_;            // in the order of the new file
  std::map<std::string, size_t> file_order_;  // resolved path -> order of first use
};

}  // namespace arbalest
