// Reader of IDX files, the format of MNIST (http://yann.lecun.com/exdb/mnist): two zero bytes, an element type, the
// rank, that many big-endian 32-bit sizes, and the elements row-major and big-endian. Plain or gzip, told by content.
//
// Errors (io, with the path in front): not an IDX file, unknown element type, fewer or more bytes than the header
// announces, damaged gzip data, sizes that the file or the machine cannot hold (found before memory is asked for).
#pragma once

#include <string>

#include "graph/host_tensor.h"

namespace arbalest {

// Element types uint8, int8, int16, int32, float32, float64.
HostTensor read_idx(const std::string& path);

}  // namespace arbalest
