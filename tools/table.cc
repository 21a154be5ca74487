#include "tools/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace arbalest::tools {
namespace {

// Terminal columns of UTF-8 text: continuation bytes take none.
size_t width(const std::string& s) {
  return static_cast<size_t>(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string scaled(double n, double base, const std::vector<const char*>& units) {
  size_t u = 0;
  while (n >= base && u + 1 < units.size()) n /= base, ++u;
  return u == 0 ? fmt::format("{:.0f}{}", n, units[u]) : fmt::format("{:.1f}{}", n, units[u]);
}

}  // namespace

Table::Table(std::vector<std::string> header) {
  for (std::string& cell : header) {
    right_.push_back(!cell.empty() && cell[0] == '>');
    if (right_.back()) cell.erase(0, 1);
  }
  rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> row) {
  row.resize(right_.size());
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  if (rows_.size() < 2) return "";
  std::vector<size_t> widths(right_.size());
  for (const auto& row : rows_)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - width(row[c]), ' ');
      line += (c ? "  " : "") + (right_[c] ? space + row[c] : row[c] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string with_thousands(int64_t n) {
  std::string digits = std::to_string(n);
  for (int i = static_cast<int>(digits.size()) - 3; i > (n < 0 ? 1 : 0); i -= 3) digits.insert(i, ",");
  return digits;
}

std::string short_count(double n) { return scaled(n, 1000, {"", " k", " M", " G", " T"}); }
std::string short_bytes(double n) { return scaled(n, 1024, {" B", " KiB", " MiB", " GiB", " TiB"}); }

}  // namespace arbalest::tools
