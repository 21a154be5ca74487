// How a learner's weights follow its gradients: one pass over flat arrays.
//
// Works on any part of the parameters, so that threads may share an update; every element is computed alike whatever
// the parts. An optimiser has no state of its own: each learner keeps state_count() arrays of the parameters' size,
// zero at first. The synchronisation algorithms' pull towards an average model happens in the same pass:
//   w <- w - step - correction (w - average), with w as it was before the step.
#pragma once

#include <cstdint>

namespace arbalest {

inline constexpr int kMostOptimiserStates = 2;

// Arrays of one learner, each at the first element of the part that is updated.
template <class T>
struct UpdateArrays {
  T* weights = nullptr;
  const T* gradients = nullptr;
  T* states[kMostOptimiserStates] = {};
  const T* average = nullptr;  // null: no correction
};

struct UpdateStep {
  double learning_rate = 0;
  double correction = 0;
  int64_t iteration = 0;
};

class Optimiser {
 public:
  virtual ~Optimiser() = default;
  virtual int state_count() const = 0;
  // Updates the elements [begin, end) of the parameters; the arrays point to element `begin`.
  virtual void update(const UpdateArrays<float>& arrays, const UpdateStep& step, int64_t begin, int64_t end) const = 0;
  virtual void update(const UpdateArrays<double>& arrays, const UpdateStep& step, int64_t begin, int64_t end) const = 0;
};

}  // namespace arbalest
