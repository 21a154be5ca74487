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

Trainer::LoadBatch resident_batches(const Session& session, int learners) {
  std::vector<char> filled(static_cast<size_t>(learners), 0);
  return [filled, classes = session.classes().value_or(2)](int learner, Replica& replica) mutable {
    char& once = filled[static_cast<size_t>(learner)];
    if (!once) feed_random(replica, classes);
    once = 1;
  };
}

}  // namespace arbalest::tools
