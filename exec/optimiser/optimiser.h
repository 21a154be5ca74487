// How a learner's weights follow its gradients: passes over flat arrays.
//
// Every element is computed alike, whatever the parts into which threads cut the arrays. An optimiser has no state of
// its own: a learner keeps state_count() arrays of the parameters' size, zero at first. The synchronisation algorithms'
// pull towards an average model happens in the same pass:
//   w <- w - step - correction (w - average), with w as it was before the step.
// With g the gradient (clipped), t = 1, 2, ... the steps since the states were zero:
//   sgd        torch.optim.SGD: d = g + decay w, v = momentum v + (t > 1 ? 1 - dampening : 1) d; the step is v, with
//              Nesterov d + momentum v
//   adam       torch.optim.Adam (decay as an L2 penalty)
//   adam-onnx  ai.onnx.preview.training.Adam: epsilon is added before the bias is corrected
//   adamw      torch.optim.AdamW (decoupled decay)
//   adagrad    torch.optim.Adagrad
//   rmsprop    torch.optim.RMSprop, with momentum
//   lion       Chen et al. 2023, algorithm 2
//   lamb       You et al. 2020, algorithm 2, phi = identity
//   lars       You et al. 2017, algorithm 1; a norm that is zero gives the ratio 1
// Clipping is that of torch.nn.utils: clip_grad_norm_ over all parameters, then clip_grad_value_.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exec/element_range.h"

namespace arbalest {

inline constexpr int kMostOptimiserStates = 2;

enum class OptimiserKind : uint8_t { sgd, adam, adam_onnx, adamw, adagrad, rmsprop, lamb, lars, lion };

struct OptimiserOptions {
  OptimiserKind kind = OptimiserKind::sgd;
  double momentum = 0;  // sgd, lars, rmsprop: 0 <= momentum < 1
  double dampening = 0;
  bool nesterov = false;
  std::optional<double> beta1, beta2;  // adam*, lamb: 0.9, 0.999; lion: 0.9, 0.99; rmsprop: beta2 (alpha) 0.99
  std::optional<double> epsilon;       // adam, adamw, rmsprop: 1e-8; adam-onnx, lamb: 1e-6; adagrad: 1e-10
  double trust = 0.001;                // lars
  double weight_decay = 0;             // >= 0
  double clip_norm = 0;                // 0: none
  double clip_value = 0;               // 0: none
};

// The elements of one parameter and what is special there.
struct ParameterSegment {
  ElementRange elements;
  double rate = 1;  // times the learning rate
  double weight_decay = 0;
};

// Arrays of one learner, each at the first element of the part that is updated.
template <class T>
struct UpdateArrays {
  T* weights = nullptr;
  T* gradients = nullptr;  // overwrites_gradients() says whether they are
  T* states[kMostOptimiserStates] = {};
  const T* average = nullptr;       // null: no correction
  const double* factors = nullptr;  // what gather() found; null where nothing is measured
};

struct UpdateStep {
  double learning_rate = 0;
  double correction = 0;
  int64_t iteration = 0;  // since the states were zero
};

class Optimiser {
 public:
  // `segments`: all parameters in increasing order. Empty: one that never ends. Usage error for options out of range.
  Optimiser(const OptimiserOptions& options, std::vector<ParameterSegment> segments);

  int state_count() const;
  bool overwrites_gradients() const { return options_.kind == OptimiserKind::lamb; }
  const std::vector<ParameterSegment>& segments() const { return segments_; }

  // Updates the elements [begin, end) of the parameters; the arrays point to element `begin`.
  template <class T>
  void update(const UpdateArrays<T>& arrays, const UpdateStep& step, int64_t begin, int64_t end) const;

  // Norms need a pass over everything before the update: for pass = 0 .. passes() - 1 measure() all blocks (by any
  // threads), then gather() once. The arrays are at element 0; `measures` has measure_count() elements.
  int passes() const { return (options_.clip_norm > 0 ? 1 : 0) + (layerwise() ? 1 : 0); }
  int64_t block_count() const { return static_cast<int64_t>(blocks_.size()); }
  size_t measure_count() const { return passes() == 0 ? 0 : 2 * blocks_.size() + 1 + segments_.size(); }
  ElementRange block(int64_t b) const { return blocks_[static_cast<size_t>(b)].elements; }
  template <class T>
  void measure(int pass, const UpdateArrays<T>& arrays, const UpdateStep& step, double* measures, int64_t first_block,
               int64_t last_block) const;
  void gather(int pass, double* measures) const;
  const double* factors(const double* measures) const { return measures + 2 * blocks_.size(); }

 private:
  struct Block {
    ElementRange elements;
    size_t segment = 0;
  };

  bool layerwise() const { return options_.kind == OptimiserKind::lamb || options_.kind == OptimiserKind::lars; }
  bool measures_clip(int pass) const { return options_.clip_norm > 0 && pass == 0; }
  struct Coefficients coefficients(const UpdateStep& step, const double* factors, size_t segment) const;

  OptimiserOptions options_;
  std::vector<ParameterSegment> segments_;
  std::vector<Block> blocks_;  // the segments in pieces whose sums are added up in their order
};

const char* name_of(OptimiserKind kind);                   // "adam-onnx"
std::vector<std::string> optimiser_names();                // in the order of OptimiserKind
OptimiserKind optimiser_by_name(const std::string& name);  // usage error

}  // namespace arbalest
