#include "data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "data/allocation.h"
#include "data/byte_order.h"

namespace arbalest {
namespace {

// A regular file read from its start, through gunzip when it is a gzip file.
class Reader {
 public:
  explicit Reader(const std::string& path) {
    if (!std::filesystem::is_regular_file(path)) throw Error(ErrorKind::io, "is not a file that can be read");
    size_ = std::filesystem::file_size(path);
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_) throw Error(ErrorKind::io, "cannot be opened: {}", std::strerror(errno));
  }

  // Bytes read; fewer than asked for at the end of the file.
  uint64_t read(void* to, uint64_t bytes) {
    constexpr uint64_t kChunk = 1 << 26;  // gzread counts in int
    uint64_t done = 0;
    while (done < bytes) {
      const auto chunk = static_cast<unsigned>(std::min(bytes - done, kChunk));
      const int got = gzread(file_.get(), static_cast<char*>(to) + done, chunk);
      if (got < 0) throw_gzip_error();
      if (got == 0) break;
      done += static_cast<uint64_t>(got);
    }
    return done;
  }

  // Whether nothing follows; also has the checksum of a gzip file compared.
  bool at_end() {
    char byte = 0;
    if (read(&byte, 1) != 0) return false;
    int code = Z_OK;
    gzerror(file_.get(), &code);
    if (code != Z_OK) throw_gzip_error();
    return true;
  }

  // The most bytes that the whole file can give.
  uint64_t greatest_size() { return gzdirect(file_.get()) ? size_ : size_ * kGreatestDeflateRatio; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const { gzclose_r(file); }
  };

  [[noreturn]] void throw_gzip_error() {
    int code = Z_OK;
    const std::string text = gzerror(file_.get(), &code);
    if (code == Z_ERRNO) throw Error(ErrorKind::io, "cannot be read: {}", std::strerror(errno));
    if (code == Z_BUF_ERROR) throw Error(ErrorKind::io, "is truncated: its gzip data ends early; fetch it again");
    throw Error(ErrorKind::io, "has damaged gzip data ({}); fetch it again", text);
  }

  std::unique_ptr<gzFile_s, Close> file_;
  uint64_t size_ = 0;
};

uint32_t big_endian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

DataType element_type(uint8_t code) {
  switch (code) {
    case 0x08:
      return DataType::u8;
    case 0x09:
      return DataType::i8;
    case 0x0B:
      return DataType::i16;
    case 0x0C:
      return DataType::i32;
    case 0x0D:
      return DataType::f32;
    case 0x0E:
      return DataType::f64;
    default:
      throw Error(ErrorKind::io, "element type 0x{:02x} is none of IDX (0x08, 0x09, 0x0b to 0x0e)", code);
  }
}

HostTensor read(Reader& file) {
  std::array<uint8_t, 4> magic{};
  if (file.read(magic.data(), 4) != 4) throw Error(ErrorKind::io, "is too short for an IDX file");
  if (magic[0] != 0 || magic[1] != 0) {
    throw Error(ErrorKind::io, "magic number 0x{:08x} is not that of an IDX file, which starts with two zero bytes",
                big_endian(magic.data()));
  }
  const DataType dtype = element_type(magic[2]);
  Dims dims;
  for (int i = 0; i < magic[3]; ++i) {
    std::array<uint8_t, 4> size{};
    if (file.read(size.data(), 4) != 4) {
      throw Error(ErrorKind::io, "is truncated: its header announces {} sizes, {} are there", magic[3], i);
    }
    dims.push_back(big_endian(size.data()));
  }

  const uint64_t bytes = checked_bytes(dtype, dims);
  if (bytes > file.greatest_size()) {
    throw Error(ErrorKind::io, "is truncated: its header announces {} of {}, {} bytes, more than the file can hold",
                to_string(dims), name_of(dtype), bytes);
  }
  HostTensor tensor = allocate_tensor(dtype, dims);
  const uint64_t got = file.read(tensor.bytes.data(), bytes);
  if (got != bytes) {
    throw Error(ErrorKind::io, "is truncated: its header announces {} of {}, {} bytes, {} are there", to_string(dims),
                name_of(dtype), bytes, got);
  }
  if (!file.at_end()) throw Error(ErrorKind::io, "has more bytes than its header announces ({})", bytes);
  to_machine_order(tensor, std::endian::big);
  return tensor;
}

}  // namespace

HostTensor read_idx(const std::string& path) {
  try {
    Reader file(path);
    return read(file);
  } catch (const Error& e) {
    throw e.within(path);
  }
}

}  // namespace arbalest
