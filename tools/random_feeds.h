// Random inputs and labels, where only the time counts.
#pragma once

#include <cstdint>

#include "exec/replica.h"

namespace arbalest::tools {

// Floats like normalised data, labels below `classes`, other integers 0 and 1; the same at each call.
void feed_random(Replica& replica, int64_t classes);

}  // namespace arbalest::tools
