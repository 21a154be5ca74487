// Random inputs and labels, where only the time counts.
#pragma once

#include <cstdint>

#include "sync/trainer.h"
#include "tools/session.h"

namespace arbalest::tools {

// Floats like normalised data, labels below `classes`, other integers 0 and 1; the same at each call.
void feed_random(Replica& replica, int64_t classes);
// The same for so many learners, fed once: the data stay resident.
Trainer::LoadBatch resident_batches(const Session& session, int learners);

}  // namespace arbalest::tools
