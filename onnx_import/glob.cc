#include "onnx_import/glob.h"

#include <fnmatch.h>

#include <string>

namespace arbalest {

bool glob_matches(std::string_view pattern, std::string_view text) {
  return ::fnmatch(std::string(pattern).c_str(), std::string(text).c_str(), 0) == 0;
}

}  // namespace arbalest
