// Tensor data outside the model file, and its safety rules.
//
// ONNX: external_data has the keys location (relative to the model's folder), offset and length (decimal). Accepted is
// only a regular file inside the model's folder: no absolute path, no "..", no symbolic link that leads out of the
// folder; offset and length lie inside the file. All of this is checked before anything is read or allocated. Source:
// ONNX docs/ExternalData.md; CVE-2022-25882, CVE-2024-27318 (what happens without the rules).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "onnx_import/model_file.h"

namespace arbalest {

struct ExternalRegion {
  std::string location;  // as the model has it
  std::string file;      // resolved path
  uint64_t offset = 0;
  uint64_t length = 0;

  friend auto operator<=>(const ExternalRegion&, const ExternalRegion&) = default;
};

bool is_external(const onnx::TensorProto& tensor);

// Where the data of the tensor lie. `bytes` is what its type and shape need: the length entry, if there is one, must
// say the same. Without it (types that Arbalest has no tensors of) the length entry counts, or the end of the file.
ExternalRegion locate_external_data(const onnx::TensorProto& tensor, const ModelFile& model,
                                    std::optional<uint64_t> bytes);

// Fills the span from the region, starting `from` bytes into it.
void read_external_data(const ExternalRegion& region, uint64_t from, std::span<std::byte> into);

}  // namespace arbalest
