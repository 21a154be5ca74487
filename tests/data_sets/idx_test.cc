#include "data/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data_sets/files.h"

namespace arbalest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_reading_idx(const std::string& bytes) {
  TemporaryFolder folder;
  write_file(folder / "file", bytes);
  const std::string text = error_of([&] { read_idx(folder / "file"); });
  EXPECT_THAT(text, HasSubstr(folder / "file: "));
  return text;
}

template <class T>
void expect_idx_read(uint8_t code, DataType dtype, const std::vector<T>& values) {
  TemporaryFolder folder;
  const std::string bytes = idx_bytes(code, {2, 3}, encode(values, std::endian::big));
  write_file(folder / "plain", bytes);
  write_file(folder / "packed", gzip(bytes));
  for (const char* name : {"plain", "packed"}) {
    const HostTensor tensor = read_idx(folder / name);
    EXPECT_EQ(tensor.dtype, dtype);
    EXPECT_EQ(tensor.dims, (Dims{2, 3}));
    EXPECT_THAT(tensor.as<T>(), ::testing::ElementsAreArray(values));
  }
}

TEST(Idx, EveryElementTypePlainAndGzip) {
  expect_idx_read<uint8_t>(0x08, DataType::u8, {0, 1, 2, 253, 254, 255});
  expect_idx_read<int8_t>(0x09, DataType::i8, {-128, -1, 0, 1, 2, 127});
  expect_idx_read<int16_t>(0x0B, DataType::i16, {-32768, -1, 0, 1, 258, 32767});
  expect_idx_read<int32_t>(0x0C, DataType::i32, {-2147483647, -1, 0, 1, 16909060, 2147483647});
  expect_idx_read<float>(0x0D, DataType::f32, {-1.5f, 0, 1, 3.25f, 1e-30f, 1e30f});
  expect_idx_read<double>(0x0E, DataType::f64, {-1.5, 0, 1, 3.25, 1e-300, 1e300});
}

TEST(Idx, NoElements) {
  TemporaryFolder folder;
  write_file(folder / "file", idx_bytes(0x08, {0, 28}, ""));
  EXPECT_EQ(read_idx(folder / "file").dims, (Dims{0, 28}));
}

TEST(Idx, BadHeaders) {
  EXPECT_THAT(error_reading_idx(""), HasSubstr("too short for an IDX file"));
  EXPECT_THAT(error_reading_idx(std::string("\x89PNG\r\n")), HasSubstr("magic number 0x89504e47"));
  EXPECT_THAT(error_reading_idx(idx_bytes(0x0A, {1}, "x")), HasSubstr("element type 0x0a"));
  EXPECT_THAT(error_reading_idx(idx_bytes(0x08, {1, 2, 3}, "").substr(0, 9)),
              HasSubstr("header announces 3 sizes, 1 are there"));
}

TEST(Idx, FewerOrMoreBytesThanAnnounced) {
  EXPECT_THAT(error_reading_idx(idx_bytes(0x08, {2, 3}, "12345")), HasSubstr("truncated"));
  EXPECT_THAT(error_reading_idx(gzip(idx_bytes(0x08, {2, 3}, "12345"))), HasSubstr("6 bytes, 5 are there"));
  EXPECT_THAT(error_reading_idx(idx_bytes(0x08, {2, 3}, "1234567")),
              HasSubstr("more bytes than its header announces (6)"));
}

TEST(Idx, SizesThatLieAreFoundBeforeMemoryIsAskedFor) {
  const uint32_t most = 0xffffffff;
  EXPECT_THAT(error_reading_idx(idx_bytes(0x08, {most, most, most}, "")), HasSubstr("beyond what can be addressed"));
  EXPECT_THAT(error_reading_idx(idx_bytes(0x08, {most, 1000}, "")), HasSubstr("more than the file can hold"));
  EXPECT_THAT(error_reading_idx(gzip(idx_bytes(0x0E, {most, 1000}, ""))), HasSubstr("more than the file can hold"));
}

TEST(Idx, DamagedGzip) {
  const std::string packed = gzip(idx_bytes(0x08, {100}, std::string(100, 'a')));
  EXPECT_THAT(error_reading_idx(packed.substr(0, packed.size() - 9)), HasSubstr("truncated"));
  std::string wrong_checksum = packed;
  wrong_checksum[packed.size() - 5] ^= 1;
  EXPECT_THAT(error_reading_idx(wrong_checksum), HasSubstr("damaged gzip data"));
}

TEST(Idx, NotAFile) {
  EXPECT_THAT(error_of([] { read_idx("/nowhere/file"); }), HasSubstr("/nowhere/file: is not a file"));
  EXPECT_THAT(error_of([] { read_idx("/"); }), HasSubstr("is not a file"));
}

}  // namespace
}  // namespace arbalest
