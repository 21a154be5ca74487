// Options that only some kinds of a thing have: --alpha of synchronisers, --dampening of optimisers.
#pragma once

#include <string>
#include <vector>

namespace arbalest::tools {

struct OptionUse {
  const char* option;
  bool given;
  std::vector<std::string> kinds;  // that have it
};

// Usage error for an option that is given and that `kind`, which `selector` chose, does not have:
// "--dampening: --optimiser adam has no such option; sgd has it".
void check_used(const std::vector<OptionUse>& uses, const std::string& selector, const std::string& kind);

}  // namespace arbalest::tools
