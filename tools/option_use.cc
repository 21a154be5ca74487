#include "tools/option_use.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/error.h"

namespace arbalest::tools {

void check_used(const std::vector<OptionUse>& uses, const std::string& selector, const std::string& kind) {
  for (const OptionUse& use : uses) {
    if (!use.given || std::count(use.kinds.begin(), use.kinds.end(), kind)) continue;
    throw Error(ErrorKind::usage, "{}: {} {} has no such option; {} {} it", use.option, selector, kind,
                fmt::join(use.kinds, ", "), use.kinds.size() == 1 ? "has" : "have");
  }
}

}  // namespace arbalest::tools
