// Counts what the whole program allocates through operator new.
#pragma once

#include <cstdint>

namespace arbalest {

uint64_t allocation_count();

}  // namespace arbalest
