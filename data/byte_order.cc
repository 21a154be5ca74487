#include "data/byte_order.h"

#include <algorithm>

namespace arbalest {

void to_machine_order(HostTensor& tensor, std::endian file_order) {
  const size_t size = size_of(tensor.dtype);
  if (file_order == std::endian::native || size == 1) return;
  std::byte* const begin = tensor.bytes.data();
  for (size_t i = 0; i < tensor.bytes.size(); i += size) std::reverse(begin + i, begin + i + size);
}

}  // namespace arbalest
