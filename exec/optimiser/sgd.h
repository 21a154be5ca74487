// Stochastic gradient descent with momentum, Nesterov momentum and weight decay, as torch.optim.SGD defines them:
//   d = g + weight_decay w;  v <- momentum v + d;  w <- w - learning_rate (nesterov ? d + momentum v : v)
// Without momentum there is no v. Errors: usage for values outside their ranges.
#pragma once

#include <vector>

#include "exec/element_range.h"
#include "exec/optimiser/optimiser.h"

namespace arbalest {

struct SgdOptions {
  double momentum = 0;  // 0 <= momentum < 1
  bool nesterov = false;
  double weight_decay = 0;  // >= 0
  // Where weight decay applies: in increasing order, without overlap. Empty: everywhere.
  std::vector<ElementRange> decayed{};
};

class Sgd : public Optimiser {
 public:
  explicit Sgd(SgdOptions options);
  int state_count() const override { return options_.momentum != 0 ? 1 : 0; }
  void update(const UpdateArrays<float>& arrays, const UpdateStep& step, int64_t begin, int64_t end) const override;
  void update(const UpdateArrays<double>& arrays, const UpdateStep& step, int64_t begin, int64_t end) const override;

 private:
  template <class T>
  void update_parts(const UpdateArrays<T>& arrays, const UpdateStep& step, int64_t begin, int64_t end) const;

  SgdOptions options_;
};

}  // namespace arbalest
