// From the byte order of a file to that of the machine, in place.
#pragma once

#include <bit>

#include "graph/host_tensor.h"

namespace arbalest {

void to_machine_order(HostTensor& tensor, std::endian file_order);

}  // namespace arbalest
