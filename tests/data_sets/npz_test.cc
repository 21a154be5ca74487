#include "data/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data_sets/files.h"

namespace arbalest {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::string error_reading_npy(const std::string& npy) {
  TemporaryFolder folder;
  write_zip(folder / "file.npz", {{"x.npy", npy}});
  const std::string text = error_of([&] { NpzFile(folder / "file.npz").read("x"); });
  EXPECT_THAT(text, HasSubstr(folder / "file.npz: array 'x': "));
  return text;
}

template <class T>
void expect_npy_read(const std::string& descr, DataType dtype, const std::vector<T>& values) {
  TemporaryFolder folder;
  for (const bool deflate : {false, true}) {
    for (const std::endian order : {std::endian::little, std::endian::big}) {
      const std::string mark = sizeof(T) == 1 ? "|" : order == std::endian::little ? "<" : ">";
      write_zip(folder / "file.npz", {{"x.npy", npy_bytes(mark + descr, "(2, 2)", encode(values, order))}}, deflate);
      const HostTensor tensor = NpzFile(folder / "file.npz").read("x");
      EXPECT_EQ(tensor.dtype, dtype);
      EXPECT_EQ(tensor.dims, (Dims{2, 2}));
      EXPECT_THAT(tensor.as<T>(), ElementsAreArray(values));
    }
  }
}

TEST(Npz, EveryElementType) {
  expect_npy_read<float>("f4", DataType::f32, {-1.5f, 0, 3.25f, 1e30f});
  expect_npy_read<double>("f8", DataType::f64, {-1.5, 0, 3.25, 1e300});
  expect_npy_read<uint8_t>("u1", DataType::u8, {0, 1, 128, 255});
  expect_npy_read<int8_t>("i1", DataType::i8, {-128, -1, 0, 127});
  expect_npy_read<int16_t>("i2", DataType::i16, {-32768, -1, 258, 32767});
  expect_npy_read<int32_t>("i4", DataType::i32, {-2147483647, -1, 16909060, 2147483647});
  expect_npy_read<int64_t>("i8", DataType::i64, {INT64_MIN, -1, 72623859790382856, INT64_MAX});
  expect_npy_read<uint16_t>("u2", DataType::u16, {0, 1, 258, 65535});
  expect_npy_read<uint32_t>("u4", DataType::u32, {0, 1, 16909060, 4294967295});
}

TEST(Npz, BoolsAreZeroOrOne) {
  TemporaryFolder folder;
  write_zip(folder / "file.npz", {{"x.npy", npy_bytes("|b1", "(3,)", std::string("\0\1\2", 3))}});
  EXPECT_THAT(NpzFile(folder / "file.npz").read("x").as<bool>(), ElementsAre(false, true, true));
}

TEST(Npz, ShapesAndHeaderVersions) {
  TemporaryFolder folder;
  std::string version2 = npy_bytes("<f4", "(1L,)", encode(std::vector<float>{7}, std::endian::little));
  version2[6] = '\2';
  version2.insert(10, 2, '\0');  // the length of the dictionary has 32 bits from version 2
  write_zip(folder / "file.npz", {{"scalar.npy", npy_bytes("|u1", "()", "a")},
                                  {"vector.npy", npy_bytes("|u1", "(2,)", "ab")},
                                  {"empty.npy", npy_bytes("|u1", "(0, 5)", "")},
                                  {"version2.npy", version2},
                                  {"notes.txt", "not an array"}});
  const NpzFile file(folder / "file.npz");
  EXPECT_THAT(file.names(), ElementsAre("scalar", "vector", "empty", "version2"));
  EXPECT_EQ(file.read("scalar").dims, Dims{});
  EXPECT_EQ(file.read("vector").dims, Dims{2});
  EXPECT_EQ(file.read("empty").dims, (Dims{0, 5}));
  EXPECT_THAT(file.read("version2").as<float>(), ElementsAre(7));
}

TEST(Npz, FortranOrderIsRefusedUnlessItMakesNoDifference) {
  EXPECT_THAT(error_reading_npy(npy_bytes("|u1", "(2, 2)", "abcd", "True")),
              HasSubstr("is in Fortran order; store numpy.ascontiguousarray"));
  TemporaryFolder folder;
  write_zip(folder / "file.npz", {{"x.npy", npy_bytes("|u1", "(2,)", "ab", "True")}});
  EXPECT_THAT(NpzFile(folder / "file.npz").read("x").as<uint8_t>(), ElementsAre('a', 'b'));
}

TEST(Npz, ElementTypesThatCannotBeRead) {
  EXPECT_THAT(error_reading_npy(npy_bytes("|O", "(2,)", "ab")),
              HasSubstr("element type '|O' cannot be read; store f4"));
  EXPECT_THAT(error_reading_npy(npy_bytes("<U5", "(2,)", "ab")), HasSubstr("element type '<U5'"));
  EXPECT_THAT(error_reading_npy(npy_bytes("<c8", "(2,)", "ab")), HasSubstr("element type '<c8'"));
  std::string records = npy_bytes("<f4", "(1,)", "abcd");
  records.replace(records.find("'<f4'"), 5, "[(   ");
  EXPECT_THAT(error_reading_npy(records), HasSubstr("records"));
}

TEST(Npz, BadHeaders) {
  const std::string good = npy_bytes("|u1", "(4,)", "abcd");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  EXPECT_THAT(error_reading_npy("short"), HasSubstr("truncated"));
  EXPECT_THAT(error_reading_npy("PK" + good), HasSubstr("is not an .npy array"));
  EXPECT_THAT(error_reading_npy(with("NUMPY\x01", "NUMPY\x09")), HasSubstr("version 9"));
  EXPECT_THAT(error_reading_npy(with("(4,)", "(-4)")), HasSubstr("a size expected"));
  EXPECT_THAT(error_reading_npy(with("(4,)", "(4x)")), HasSubstr("')' expected"));
  EXPECT_THAT(error_reading_npy(with("False", "maybe")), HasSubstr("True or False expected"));
  EXPECT_THAT(error_reading_npy(with("'shape'", "'shade'")), HasSubstr("unknown key 'shade'"));
  EXPECT_THAT(error_reading_npy(with("{", " ")), HasSubstr("'{' expected"));
  EXPECT_THAT(error_reading_npy(good.substr(0, 40)), HasSubstr("is not an .npy array"));
}

TEST(Npz, SizesThatDisagreeWithTheArchive) {
  EXPECT_THAT(error_reading_npy(npy_bytes("|u1", "(5,)", "abcd")), HasSubstr("5 of uint8, 5 bytes, the archive has 4"));
  EXPECT_THAT(error_reading_npy(npy_bytes("|u1", "(3,)", "abcd")), HasSubstr("3 bytes, the archive has 4"));
  EXPECT_THAT(error_reading_npy(npy_bytes("<f8", "(4611686018427387904, 4611686018427387904)", "")),
              HasSubstr("beyond what can be addressed"));
  EXPECT_THAT(error_reading_npy(npy_bytes("<f8", "(99999999999999999999,)", "")), HasSubstr("a size expected"));
}

TEST(Npz, DamagedArchives) {
  TemporaryFolder folder;
  const std::string path = folder / "file.npz";
  write_zip(path, {{"x.npy", npy_bytes("|u1", "(4,)", "abcd")}});
  std::string bytes = read_file(path);
  bytes[bytes.find("abcd")] = 'z';
  write_file(folder / "checksum.npz", bytes);
  EXPECT_THAT(error_of([&] { NpzFile(folder / "checksum.npz").read("x"); }), HasSubstr("is damaged"));

  write_file(folder / "cut.npz", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(error_of([&] { NpzFile(folder / "cut.npz"); }), HasSubstr("cannot be read as an .npz archive"));
  EXPECT_THAT(error_of([&] { NpzFile(folder / "absent.npz"); }), HasSubstr("is not a file"));
  EXPECT_THAT(error_of([&] { NpzFile(path).read("y"); }), HasSubstr("array 'y': is not in the archive"));
}

}  // namespace
}  // namespace arbalest
