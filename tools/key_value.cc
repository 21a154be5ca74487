#include "tools/key_value.h"

#include <charconv>
#include <optional>

#include "graph/base/error.h"

namespace arbalest::tools {
namespace {

std::optional<double> parsed(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc() || at != end || !(value >= 0)) return std::nullopt;
  return value;
}

}  // namespace

std::pair<std::string, std::string> key_and_value(const std::string& text) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos) return {"", text};
  return {text.substr(0, at), text.substr(at + 1)};
}

double number_at_least_0(const std::string& text, const char* option) {
  if (const auto number = parsed(text)) return *number;
  throw Error(ErrorKind::usage, "{}: '{}' is not a number of at least 0", option, text);
}

std::pair<std::string, double> key_and_number(const std::string& text, const char* option, const char* form) {
  const auto [key, value] = key_and_value(text);
  const auto number = parsed(value);
  if (key.empty() || !number) throw Error(ErrorKind::usage, "{} '{}': takes {}", option, text, form);
  return {key, *number};
}

}  // namespace arbalest::tools
