// Matching of names with shell patterns: "*" any text (slashes included), "?" one character, "[abc]", "[a-c]", "[!a]".
#pragma once

#include <string_view>

namespace arbalest {

bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace arbalest
