#include "tools/random_feeds.h"

#include <random>

namespace arbalest::tools {

void feed_random(Replica& replica, int64_t classes) {
  std::mt19937_64 random(1);
  for (const PlanTensor& tensor : replica.plan().feeds()) {
    HostTensor value(tensor.type.dtype, tensor.type.dims());
    if (value.dtype == DataType::f32)
      for (float& v : value.as<float>())
        v = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-53 * 3.4 - 1.7);
    if (value.dtype == DataType::i64)
      for (int64_t& v : value.as<int64_t>())
        v = static_cast<int64_t>(random() % static_cast<uint64_t>(tensor.label ? classes : 2));
    replica.feed(tensor, value.bytes.data());
  }
}

}  // namespace arbalest::tools
