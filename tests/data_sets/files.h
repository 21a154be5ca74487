// Small data files for the tests, written byte by byte from the formats' descriptions.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/base/error.h"
#include "tests/temporary_folder.h"

namespace arbalest {

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
