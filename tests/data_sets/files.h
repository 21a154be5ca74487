// Small data files for the tests, written byte by byte from the formats' descriptions, in a folder that goes away.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "graph/base/error.h"

namespace arbalest {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The bytes of values in an order of bytes, as files hold them.
template <class T>
std::string encode(const std::vector<T>& values, std::endian order) {
  std::string bytes;
  for (T value : values) {
    const auto raw = std::bit_cast<std::array<char, sizeof(T)>>(value);
    std::string one(raw.begin(), raw.end());
    if (order != std::endian::native) one = std::string(one.rbegin(), one.rend());
    bytes += one;
  }
  return bytes;
}

void write_file(const std::string& path, const std::string& bytes);
std::string read_file(const std::string& path);
std::string gzip(const std::string& bytes);

std::string idx_bytes(uint8_t code, const std::vector<uint32_t>& dims, const std::string& elements);

// shape is Python's: "(2, 3)". Version 1.0.
std::string npy_bytes(const std::string& descr, const std::string& shape, const std::string& elements,
                      const std::string& fortran_order = "False");

struct ZipMember {
  std::string name;  // with ".npy"
  std::string bytes;
};
void write_zip(const std::string& path, const std::vector<ZipMember>& members, bool deflate = false);

// Runs f and returns the text of the Error that it throws; fails the test when it throws none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

}  // namespace arbalest
