#include "onnx_import/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "graph/base/error.h"
#include "graph/base/file_descriptor.h"

namespace arbalest {
namespace {

namespace fs = std::filesystem;

struct Entries {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

uint64_t parse_number(const std::string& key, const std::string& text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  require(code == std::errc() && stop == end, "external data: {} '{}' is not a number of bytes", key, text);
  return value;
}

Entries parse_entries(const onnx::TensorProto& tensor) {
  Entries entries;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") entries.location = entry.value();
    if (entry.key() == "offset") entries.offset = parse_number("offset", entry.value());
    if (entry.key() == "length") entries.length = parse_number("length", entry.value());
  }
  require(!entries.location.empty(), "external data: the location is missing");
  return entries;
}

void check_location(const std::string& location) {
  require(location.find('\0') == std::string::npos, "external data: the location has a zero byte in it");
  const fs::path path(location);
  require(!path.is_absolute(),
          "external data: location '{}' is an absolute path; it must be relative to the model's folder", location);
  for (const fs::path& part : path) {
    require(part != "..", "external data: location '{}' has '..' in it and may lead outside the model's folder",
            location);
  }
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  return resolved ? resolved.get() : "";
}

std::string resolve(const std::string& location, const std::string& model_path) {
  const fs::path parent = fs::path(model_path).parent_path();
  const fs::path folder = parent.empty() ? fs::path(".") : parent;
  const std::string real_folder = real_path(folder.string());
  const std::string file = real_path((folder / location).string());
  if (real_folder.empty() || file.empty()) {
    throw Error(ErrorKind::io, "external data: file '{}' cannot be opened: {}", location, std::strerror(errno));
  }
  const std::string prefix = real_folder == "/" ? real_folder : real_folder + "/";
  require(file.starts_with(prefix),
          "external data: location '{}' is a link to '{}', outside the model's folder; copy the file there", location,
          file);
  return file;
}

// O_NONBLOCK: opening a named pipe must not wait for a writer.
FileDescriptor open_file(const std::string& file, const std::string& location) {
  FileDescriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!descriptor) {
    throw Error(ErrorKind::io, "external data: file '{}' cannot be opened: {}", location, std::strerror(errno));
  }
  return descriptor;
}

}  // namespace

bool is_external(const onnx::TensorProto& tensor) { return tensor.data_location() == onnx::TensorProto::EXTERNAL; }

ExternalRegion locate_external_data(const onnx::TensorProto& tensor, const ModelFile& model,
                                    std::optional<uint64_t> bytes) {
  const Entries entries = parse_entries(tensor);
  const std::string& location = entries.location;
  check_location(location);
  ExternalRegion region{location, resolve(location, model.path), entries.offset, 0};
  const FileDescriptor descriptor = open_file(region.file, location);
  struct stat status {};
  const bool known = ::fstat(descriptor.get(), &status) == 0;
  require(known && S_ISREG(status.st_mode), "external data: '{}' is not a regular file", location);

  const auto file_bytes = static_cast<uint64_t>(status.st_size);
  require(region.offset <= file_bytes, "external data: offset {} is behind the end of file '{}' ({} bytes)",
          region.offset, location, file_bytes);
  require(!bytes || !entries.length || *bytes == *entries.length,
          "external data: length {} in file '{}', but type and shape need {} bytes", entries.length.value_or(0),
          location, bytes.value_or(0));
  const uint64_t available = file_bytes - region.offset;
  region.length = entries.length.value_or(bytes.value_or(available));
  require(region.length <= available,
          "external data: offset {} plus length {} runs over the end of file '{}' ({} bytes)", region.offset,
          region.length, location, file_bytes);
  return region;
}

void read_external_data(const ExternalRegion& region, uint64_t from, std::span<std::byte> into) {
  ensure(from <= region.length && into.size() <= region.length - from, "external data: read outside the region");
  const FileDescriptor descriptor = open_file(region.file, region.location);
  const uint64_t begin = region.offset + from;
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t n =
        ::pread(descriptor.get(), into.data() + done, into.size() - done, static_cast<off_t>(begin + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw Error(ErrorKind::io, "external data: file '{}' cannot be read: {}", region.location, std::strerror(errno));
    if (n == 0) throw Error(ErrorKind::io, "external data: file '{}' became shorter", region.location);
    done += static_cast<size_t>(n);
  }
}

}  // namespace arbalest
