// Numbers that are known at import though they are no constants of the file.
#pragma once

#include <optional>
#include <vector>

#include "graph/builder.h"

namespace arbalest {

// The elements of a small value (kMaxContents), row-major, where it is computed from constants only. Contents have
// whole numbers and shapes; this looks through a chain of other arithmetic (a trip count, a comparison of floats, the
// bounds of a range, scales put together from constants).
std::optional<std::vector<double>> known_numbers(const Value& v);
std::optional<double> known_number(const Value& v);  // of one element; none where there are more

}  // namespace arbalest
