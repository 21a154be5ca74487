#include <cmath>
#include <limits>

#include "exec/cpu/kernels/axis_view.h"
#include "exec/cpu/kernels/kernels.h"

namespace arbalest::cpu {
namespace {

// Attributes and sizes; labels may be int32 or int64.
struct Losses {
  AxisView view;
  LossReduction reduction;
  std::optional<int64_t> ignore_index;
  bool weights;
  DataType label_type;

  int64_t label(const void* labels, int64_t i) const {
    return label_type == DataType::i64 ? static_cast<const int64_t*>(labels)[i]
                                       : static_cast<const int32_t*>(labels)[i];
  }
  bool ignored(int64_t label) const { return ignore_index && label == *ignore_index; }
  bool in_range(int64_t label) const { return label >= 0 && label < view.size; }
  int64_t count() const { return view.outer * view.inner; }
  int64_t offset(int64_t i) const { return i / view.inner * view.size * view.inner + i % view.inner; }
};

template <class P>
Losses losses_of(const P& p, PrepareContext& c, int logits, int labels) {
  return {AxisView(c.input_type(logits).dims(), p.axis), p.reduction, p.ignore_index, p.weights,
          c.input_type(labels).dtype};
}

template <class T>
struct Forward {
  Losses s;
  const T* logits;
  const void* labels;
  const T* weights;
  T* loss;
  T* probabilities;

  // Softmax of one position into probabilities; gives the negative log likelihood of `label`.
  T line(int64_t offset, int64_t label) const {
    const int64_t n = s.view.size, stride = s.view.inner;
    const T* x = logits + offset;
    T* y = probabilities + offset;
    T top = x[0];
    for (int64_t c = 1; c < n; ++c) top = std::max(top, x[c * stride]);
    T sum = 0;
    for (int64_t c = 0; c < n; ++c) sum += y[c * stride] = std::exp(x[c * stride] - top);
    const T scale = 1 / sum;
    const T picked = s.in_range(label) ? x[label * stride] : std::numeric_limits<T>::quiet_NaN();
    for (int64_t c = 0; c < n; ++c) y[c * stride] *= scale;
    return std::log(sum) + top - picked;
  }

  void operator()() const {
    double total = 0, weight_sum = 0;
    for (int64_t i = 0; i < s.count(); ++i) {
      const int64_t label = s.label(labels, i);
      const T value = line(s.offset(i), label);
      const bool counts = !s.ignored(label);
      const T w = !counts ? T{0} : weights && s.in_range(label) ? weights[label] : T{1};
      if (s.reduction == LossReduction::none) loss[i] = counts ? w * value : T{0};
      if (counts) total += static_cast<double>(w) * static_cast<double>(value);
      weight_sum += static_cast<double>(w);
    }
    if (s.reduction == LossReduction::sum) loss[0] = static_cast<T>(total);
    if (s.reduction == LossReduction::mean) loss[0] = static_cast<T>(total / weight_sum);
  }
};

template <class T>
struct Backward {
  Losses s;
  const T* probabilities;
  const void* labels;
  const T* dloss;
  const T* weights;
  T* dlogits;

  T weight(int64_t label) const {
    return s.ignored(label) ? T{0} : weights && s.in_range(label) ? weights[label] : T{1};
  }

  void operator()() const {
    double weight_sum = 0;
    for (int64_t i = 0; i < s.count(); ++i) weight_sum += static_cast<double>(weight(s.label(labels, i)));
    for (int64_t i = 0; i < s.count(); ++i) {
      const int64_t label = s.label(labels, i), offset = s.offset(i);
      const T upstream = s.reduction == LossReduction::none ? dloss[i] : dloss[0];
      T factor = upstream * weight(label);
      if (s.reduction == LossReduction::mean) factor = static_cast<T>(static_cast<double>(factor) / weight_sum);
      for (int64_t c = 0; c < s.view.size; ++c) {
        const int64_t k = offset + c * s.view.inner;
        dlogits[k] = factor * (probabilities[k] - (c == label ? T{1} : T{0}));
      }
    }
  }
};

}  // namespace

Prepared prepare(const CrossEntropy& p, PrepareContext& c) {
  for (int i = 0; i < c.input_count(); ++i) c.require_row_major(i);
  c.may_overwrite(1, 0);
  const Losses s = losses_of(p, c, 0, 1);
  return for_float_type(c.input_type(0).dtype, [&](auto tag) -> Prepared {
    using T = decltype(tag);
    return {[s](const KernelArgs& a) -> BoundKernel {
              const T* weights = s.weights ? static_cast<const T*>(a.inputs[2]) : nullptr;
              return Forward<T>{s,       static_cast<const T*>(a.inputs[0]), a.inputs[1],
                                weights, static_cast<T*>(a.outputs[0]),      static_cast<T*>(a.outputs[1])};
            },
            0, "loops", 0};
  });
}

Prepared prepare(const CrossEntropyBackward& p, PrepareContext& c) {
  for (int i = 0; i < c.input_count(); ++i) c.require_row_major(i);
  c.may_overwrite(0, 0);
  const Losses s = losses_of(p, c, 0, 1);
  return for_float_type(c.input_type(0).dtype, [&](auto tag) -> Prepared {
    using T = decltype(tag);
    return {[s](const KernelArgs& a) -> BoundKernel {
              const T* weights = s.weights ? static_cast<const T*>(a.inputs[3]) : nullptr;
              return Backward<T>{s,           static_cast<const T*>(a.inputs[0]),
                                 a.inputs[1], static_cast<const T*>(a.inputs[2]),
                                 weights,     static_cast<T*>(a.outputs[0])};
            },
            0, "loops", 0};
  });
}

}  // namespace arbalest::cpu
