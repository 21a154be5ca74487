// Loss and accuracy over the epochs of a run, as an SVG image.
#pragma once

#include <string>
#include <vector>

#include "tools/progress.h"

namespace arbalest::tools {

// Two panels side by side; one where there is no accuracy. Numbers that are not finite leave a gap in their line.
std::string curves_svg(const std::string& title, const std::vector<EpochRecord>& records, int top_k);

}  // namespace arbalest::tools
