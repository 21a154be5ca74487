#include "tests/data_sets/files.h"

#include <zip.h>
#include <zlib.h>

namespace arbalest {

std::string gzip(const std::string& bytes) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&z, bytes.size()) + 32, '\0');
  std::string input = bytes;
  z.next_in = reinterpret_cast<Bytef*>(input.data());
  z.avail_in = static_cast<uInt>(input.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

std::string idx_bytes(uint8_t code, const std::vector<uint32_t>& dims, const std::string& elements) {
  std::string bytes{'\0', '\0', static_cast<char>(code), static_cast<char>(dims.size())};
  return bytes + encode(dims, std::endian::big) + elements;
}

std::string npy_bytes(const std::string& descr, const std::string& shape, const std::string& elements,
                      const std::string& fortran_order) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + fortran_order + ", 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const std::vector<uint16_t> length{static_cast<uint16_t>(header.size())};
  return "\x93NUMPY" + std::string("\x01\0", 2) + encode(length, std::endian::little) + header + elements;
}

void write_zip(const std::string& path, const std::vector<ZipMember>& members, bool deflate) {
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  ASSERT_NE(archive, nullptr);
  for (const ZipMember& member : members) {
    zip_source_t* source = zip_source_buffer(archive, member.bytes.data(), member.bytes.size(), 0);
    const zip_int64_t index = zip_file_add(archive, member.name.c_str(), source, 0);
    ASSERT_GE(index, 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  ASSERT_EQ(zip_close(archive), 0);
}

}  // namespace arbalest
