// A running average of the model that training evaluates, laid out like the flat regions of its plan.
//
// The first model added is taken as it is. Then, for every further model w,
//   with a decay   a <- a + (1 - decay) (w - a)     exponential: torch.optim.swa_utils.get_ema_multi_avg_fn
//   without        a <- a + (w - a) / (n + 1)       the mean of all n + 1: SWA (Izmailov et al., UAI 2018, arXiv
//                                                   1803.05407), get_swa_avg_fn
// in float32. Both forms leave an average of equal models as it is, whatever the rounding of the decay. Running
// statistics are averaged like weights (AveragedModel with use_buffers).
#pragma once

#include <optional>
#include <vector>

#include "exec/plan.h"
#include "sync/synchroniser.h"

namespace arbalest {

class ModelAverage {
 public:
  // `decay` in [0, 1).
  ModelAverage(const Plan& plan, std::optional<double> decay);

  void add(const ModelView& model);
  int64_t count() const { return count_; }  // of models added
  ModelView view() const;
  std::vector<NamedBytes> arrays();  // complete: copies of them continue an average

 private:
  std::optional<double> decay_;
  int64_t count_ = 0;
  AlignedBytes weights_, statistics_;
};

}  // namespace arbalest
