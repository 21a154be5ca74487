#include "data/npz.h"

#include <zip.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "data/allocation.h"
#include "data/byte_order.h"
#include "data/npy.h"

namespace arbalest {
namespace {

constexpr std::string_view kSuffix = ".npy";

struct CloseEntry {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Entry = std::unique_ptr<zip_file_t, CloseEntry>;

void read_exactly(zip_file_t* entry, void* to, uint64_t bytes) {
  uint64_t done = 0;
  while (done < bytes) {
    const zip_int64_t got = zip_fread(entry, static_cast<char*>(to) + done, bytes - done);
    if (got < 0) throw Error(ErrorKind::io, "is damaged: {}", zip_file_strerror(entry));
    if (got == 0) throw Error(ErrorKind::io, "is truncated: {} bytes more are announced", bytes - done);
    done += static_cast<uint64_t>(got);
  }
}

// The header is the only part that is read before its size has been compared with the archive's directory.
NpyHeader read_header(zip_file_t* entry, uint64_t announced_bytes) {
  std::vector<std::byte> header(kNpyPreambleBytes);
  read_exactly(entry, header.data(), header.size());
  const size_t size = npy_header_bytes(header);
  if (size < header.size() || size > announced_bytes) throw Error(ErrorKind::io, "is not an .npy array");
  header.resize(size);
  read_exactly(entry, header.data() + kNpyPreambleBytes, size - kNpyPreambleBytes);

  NpyHeader parsed = parse_npy_header(header);
  const uint64_t bytes = checked_bytes(parsed.dtype, parsed.dims);
  if (bytes != announced_bytes - size) {
    throw Error(ErrorKind::io, "its header announces {} of {}, {} bytes, the archive has {}", to_string(parsed.dims),
                name_of(parsed.dtype), bytes, announced_bytes - size);
  }
  return parsed;
}

HostTensor read_array(zip_t* archive, uint64_t archive_bytes, const std::string& name) {
  zip_stat_t stat;
  const std::string file = name + std::string(kSuffix);
  if (zip_stat(archive, file.c_str(), 0, &stat) != 0) throw Error(ErrorKind::io, "is not in the archive");
  const Entry entry(zip_fopen(archive, file.c_str(), 0));
  if (!entry) throw Error(ErrorKind::io, "cannot be opened: {}", zip_strerror(archive));

  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
    throw Error(ErrorKind::io, "has compression method {}; NumPy stores or deflates", stat.comp_method);
  }
  if (stat.size / kGreatestDeflateRatio > archive_bytes) {
    throw Error(ErrorKind::io, "the archive announces {} bytes, more than it can hold", stat.size);
  }

  const NpyHeader header = read_header(entry.get(), stat.size);
  HostTensor tensor = allocate_tensor(header.dtype, header.dims);
  read_exactly(entry.get(), tensor.bytes.data(), tensor.bytes.size());
  std::byte rest{};
  const zip_int64_t got = zip_fread(entry.get(), &rest, 1);  // has the checksum compared
  if (got < 0) throw Error(ErrorKind::io, "is damaged: {}", zip_file_strerror(entry.get()));
  if (got > 0) throw Error(ErrorKind::io, "is longer than the archive announces");

  to_machine_order(tensor, header.order);
  if (tensor.dtype == DataType::boolean) {
    for (std::byte& b : tensor.bytes) b = std::byte{b != std::byte{0}};
  }
  return tensor;
}

}  // namespace

void NpzFile::Discard::operator()(zip* archive) const { zip_discard(archive); }

NpzFile::NpzFile(std::string path) : path_(std::move(path)) {
  if (!std::filesystem::is_regular_file(path_)) throw Error(ErrorKind::io, "{}: is not a file that can be read", path_);
  int code = 0;
  archive_.reset(zip_open(path_.c_str(), ZIP_RDONLY, &code));
  if (!archive_) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw Error(ErrorKind::io, "{}: cannot be read as an .npz archive: {}", path_, text);
  }
  const zip_int64_t entries = zip_get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const char* name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0);
    const std::string_view text = name ? name : "";
    if (text.ends_with(kSuffix)) names_.emplace_back(text.substr(0, text.size() - kSuffix.size()));
  }
}

HostTensor NpzFile::read(const std::string& name) const {
  try {
    return read_array(archive_.get(), std::filesystem::file_size(path_), name);
  } catch (const Error& e) {
    throw e.within(fmt::format("{}: array '{}'", path_, name));
  }
}

}  // namespace arbalest
