// Memory for what a data file announces: checked before it is asked for, so that a header which lies cannot exhaust it.
//
// Errors (io): sizes whose product overflows, more bytes than the machine has, memory that the system refuses.
#pragma once

#include <cstdint>

#include "graph/host_tensor.h"

namespace arbalest {

constexpr uint64_t kGreatestDeflateRatio = 1032;  // zlib's technical notes: 258 bytes for two bits

// Bytes of a dense tensor.
uint64_t checked_bytes(DataType dtype, const Dims& dims);

// Error when the machine has less memory than that in all.
void check_memory(double bytes);

HostTensor allocate_tensor(DataType dtype, const Dims& dims);  // zeros

}  // namespace arbalest
