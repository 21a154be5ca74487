// The rule of the cases for messages: every entry of error_mentions occurs, ignoring case; "a|b" means one of them;
// entries of one or two characters count only as whole words.
#pragma once

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>

namespace arbalest {

inline bool mentions_word(std::string text, std::string word) {
  const auto lower = [](std::string& s) {
    std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  };
  lower(text);
  lower(word);
  const auto is_letter = [&](size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if (word.size() > 2 || (!is_letter(at - 1) && !is_letter(at + word.size()))) return true;
  }
  return false;
}

inline bool mentions(const std::string& text, const std::string& alternatives) {
  std::stringstream stream(alternatives);
  for (std::string word; std::getline(stream, word, '|');) {
    if (mentions_word(text, word)) return true;
  }
  return false;
}

}  // namespace arbalest
