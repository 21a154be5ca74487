// A table for the terminal: columns as wide as their widest cell, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace arbalest::tools {

class Table {
 public:
  // A header that begins with '>' is a column set to the right.
  explicit Table(std::vector<std::string> header);
  void add(std::vector<std::string> row);
  std::string text() const;  // ends with a line feed; "" without rows

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;  // the header first
};

std::string with_thousands(int64_t n);  // "61,706"
std::string short_count(double n);      // "431.1 k", "25.6 M"
std::string short_bytes(double n);      // "1.7 MiB"

}  // namespace arbalest::tools
