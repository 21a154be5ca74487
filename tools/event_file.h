// TensorBoard's event files: scalars over iterations.
//
// The file is a TFRecord: each record is the length of its data (u64), the masked CRC-32C of these 8 bytes, the data,
// and the masked CRC-32C of the data; little endian. The data is an Event (tensorflow/core/util/event.proto), encoded
// here, as there are few fields. Errors: io.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace arbalest::tools {

class EventFile {
 public:
  // Makes the folder and a file of its own in it. A run that goes on at iteration `first` replaces what other files of
  // the folder have of later iterations.
  EventFile(const std::string& folder, int64_t first);

  using Scalar = std::pair<std::string, double>;  // tag and value
  void write(int64_t iteration, const std::vector<Scalar>& scalars);

 private:
  void write_event(int64_t iteration, std::string_view content);

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

uint32_t crc32c(std::string_view bytes);

}  // namespace arbalest::tools
