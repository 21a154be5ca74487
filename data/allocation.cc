#include "data/allocation.h"

#include <unistd.h>

namespace arbalest {

uint64_t checked_bytes(DataType dtype, const Dims& dims) {
  // A tensor without elements is small whatever its other sizes are, but HostTensor multiplies them all in int64.
  int64_t elements = 1;
  for (const int64_t d : dims) {
    if (d < 0 || __builtin_mul_overflow(elements, d, &elements)) {
      throw Error(ErrorKind::io, "sizes {} are beyond what can be addressed", to_string(dims));
    }
  }
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(elements), size_of(dtype), &bytes)) {
    throw Error(ErrorKind::io, "sizes {} are beyond what can be addressed", to_string(dims));
  }
  return bytes;
}

void check_memory(double bytes) {
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes > memory) {
    throw Error(ErrorKind::io, "{:.1f} GiB are needed, the machine has {:.1f} GiB of memory", bytes / 0x1p30,
                memory / 0x1p30);
  }
}

HostTensor allocate_tensor(DataType dtype, const Dims& dims) {
  const uint64_t bytes = checked_bytes(dtype, dims);
  check_memory(static_cast<double>(bytes));
  try {
    return HostTensor(dtype, dims);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::io, "{:.1f} MiB of memory are needed and the system does not give them",
                static_cast<double>(bytes) / 0x1p20);
  }
}

}  // namespace arbalest
