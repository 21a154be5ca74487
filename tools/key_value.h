// Options of the form KEY=VALUE.
#pragma once

#include <string>
#include <utility>

namespace arbalest::tools {

// At the last '='; without one the key is empty.
std::pair<std::string, std::string> key_and_value(const std::string& text);

// A number of at least 0; usage error, which names the option, for all else.
double number_at_least_0(const std::string& text, const char* option);

// KEY=NUMBER with a number of at least 0; `form` tells the user, such as "GLOB=NUMBER, for example 'head.*=0.1'".
std::pair<std::string, double> key_and_number(const std::string& text, const char* option, const char* form);

}  // namespace arbalest::tools
