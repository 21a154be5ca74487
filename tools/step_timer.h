// Times training steps on a trainer of its own, whose weights nobody wants: it learns next to nothing.
#pragma once

#include <vector>

#include "sync/trainer.h"
#include "tools/session.h"
#include "tools/training_options.h"

namespace arbalest::tools {

class StepTimer {
 public:
  // As many learners as the arguments say. `trace` gets their tasks.
  StepTimer(const Session& session, TrainingArguments arguments, Trainer::LoadBatch load, Trace* trace = nullptr);

  // Examples a second in each of so many windows of about this length, of whole iterations. The first call warms up.
  std::vector<double> rates(int windows, double seconds);

  double time(int64_t iterations);  // seconds

  const Trainer& trainer() const { return trainer_; }
  double examples() const { return examples_; }  // of an iteration

 private:
  Trainer trainer_;
  double examples_;
  double iteration_seconds_ = 0;  // 0: not known yet
};

}  // namespace arbalest::tools
