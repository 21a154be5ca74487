// `--learners auto`: chooses the learners, and their threads where they are not given, by timing steps (sync/tuner.h).
#pragma once

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sync/tuner.h"
#include "tools/session.h"
#include "tools/training_options.h"

namespace arbalest::tools {

struct TuningLimits {
  double run_examples = std::numeric_limits<double>::infinity();  // of the run that is to come
  int64_t most_examples = std::numeric_limits<int64_t>::max();    // of an iteration
};

// Batches for the learners of the arguments.
using MakeLoad = std::function<Trainer::LoadBatch(const TrainingArguments& arguments)>;

// Changes the arguments to what it chose.
Tuning tune_learners(const Session& session, TrainingArguments& arguments, const TuningLimits& limits,
                     const MakeLoad& make_load);

// {"event":"tuner","decision":"keep","learners":2,...}, one a decision; before them {"decision":"limit",...} where an
// option allows only so many learners.
std::vector<nlohmann::json> to_json(const Tuning& tuning);
// "2 x 1: 3,120 images/s, 1 x 2: 2,450, 1 x 1: 1,700 (learners x threads); took 1.4 s", and what limits the learners;
// empty: nothing to choose.
std::string describe_tuning(const Tuning& tuning);

}  // namespace arbalest::tools
