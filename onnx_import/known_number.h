// Numbers that are known at import though they are no constants of the file.
#pragma once

#include <optional>

#include "graph/builder.h"

namespace arbalest {

// The one element of a value, where it is computed from constants only. Contents have whole numbers and shapes; this
// looks through a chain of other arithmetic (a trip count, a comparison of floats, the bounds of a range).
std::optional<double> known_number(const Value& v);

}  // namespace arbalest
