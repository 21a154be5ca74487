#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/reduce_vector_loops.cc"
#include <hwy/foreach_target.h>
// The order of these two is Highway's.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "exec/cpu/kernels/reduce_loops.h"

HWY_BEFORE_NAMESPACE();
namespace arbalest::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Each operation on vectors and on single elements.
struct Sum {
  template <class V>
  static V apply(V a, V b) {
    return hn::Add(a, b);
  }
  template <class T>
  static T scalar(T a, T b) {
    return a + b;
  }
  template <class T>
  static constexpr T neutral = 0;
};

struct Product {
  template <class V>
  static V apply(V a, V b) {
    return hn::Mul(a, b);
  }
  template <class T>
  static T scalar(T a, T b) {
    return a * b;
  }
  template <class T>
  static constexpr T neutral = 1;
};

struct Maximum {
  template <class V>
  static V apply(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
  }
  template <class T>
  static T scalar(T a, T b) {
    return b > a || std::isnan(b) ? b : a;
  }
  template <class T>
  static constexpr T neutral = -std::numeric_limits<T>::infinity();
};

struct Minimum {
  template <class V>
  static V apply(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
  }
  template <class T>
  static T scalar(T a, T b) {
    return b < a || std::isnan(b) ? b : a;
  }
  template <class T>
  static constexpr T neutral = std::numeric_limits<T>::infinity();
};

// A vector of accumulators' type from elements of type T.
template <class D, class T>
hn::Vec<D> load(D d, const T* p) {
  if constexpr (std::is_same_v<hn::TFromD<D>, T>) {
    return hn::LoadU(d, p);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), p));
  }
}

// T: element, A: accumulator, float or double each.
template <class Op, class T, class A>
void reduce_rows(const void* in, int64_t rows, int64_t stride, int64_t n, void* accumulators) {
  const hn::ScalableTag<A> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto neutral = hn::Set(d, Op::template neutral<A>);
  auto sum0 = neutral, sum1 = neutral, sum2 = neutral, sum3 = neutral;
  A rest = Op::template neutral<A>;
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = static_cast<const T*>(in) + r * stride;
    int64_t j = 0;
    for (; j + 4 * lanes <= n; j += 4 * lanes) {
      sum0 = Op::apply(sum0, load(d, x + j));
      sum1 = Op::apply(sum1, load(d, x + j + lanes));
      sum2 = Op::apply(sum2, load(d, x + j + 2 * lanes));
      sum3 = Op::apply(sum3, load(d, x + j + 3 * lanes));
    }
    for (; j + lanes <= n; j += lanes) sum0 = Op::apply(sum0, load(d, x + j));
    for (; j < n; ++j) rest = Op::scalar(rest, static_cast<A>(x[j]));
  }
  HWY_ALIGN A lane[HWY_MAX_BYTES / sizeof(A)];
  hn::Store(Op::apply(Op::apply(sum0, sum1), Op::apply(sum2, sum3)), d, lane);
  for (int64_t i = 0; i < lanes; ++i) rest = Op::scalar(rest, lane[i]);
  A* accumulator = static_cast<A*>(accumulators);
  *accumulator = Op::scalar(*accumulator, rest);
}

template <class Op, class T, class A>
void reduce_columns(const void* in, int64_t rows, int64_t stride, int64_t n, void* accumulators) {
  const hn::ScalableTag<A> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  A* acc = static_cast<A*>(accumulators);
  int64_t r = 0;
  // Four rows at a time, so that accumulators are read and written a quarter as often.
  for (; r + 4 <= rows; r += 4) {
    const T* x0 = static_cast<const T*>(in) + r * stride;
    const T* x1 = x0 + stride;
    const T* x2 = x1 + stride;
    const T* x3 = x2 + stride;
    int64_t j = 0;
    for (; j + lanes <= n; j += lanes) {
      const auto four =
          Op::apply(Op::apply(load(d, x0 + j), load(d, x1 + j)), Op::apply(load(d, x2 + j), load(d, x3 + j)));
      hn::StoreU(Op::apply(hn::LoadU(d, acc + j), four), d, acc + j);
    }
    for (; j < n; ++j) {
      const A four = Op::scalar(Op::scalar(static_cast<A>(x0[j]), static_cast<A>(x1[j])),
                                Op::scalar(static_cast<A>(x2[j]), static_cast<A>(x3[j])));
      acc[j] = Op::scalar(acc[j], four);
    }
  }
  for (; r < rows; ++r) {
    const T* x = static_cast<const T*>(in) + r * stride;
    int64_t j = 0;
    for (; j + lanes <= n; j += lanes) hn::StoreU(Op::apply(hn::LoadU(d, acc + j), load(d, x + j)), d, acc + j);
    for (; j < n; ++j) acc[j] = Op::scalar(acc[j], static_cast<A>(x[j]));
  }
}

template <class Op, class A>
VectorLoops loops_of(bool is_double) {
  if (is_double) return {reduce_rows<Op, double, double>, reduce_columns<Op, double, double>};
  return {reduce_rows<Op, float, A>, reduce_columns<Op, float, A>};
}

VectorLoops select_loops(Reduction kind, bool is_double) {
  switch (kind) {
    case Reduction::max:
      return loops_of<Maximum, float>(is_double);
    case Reduction::min:
      return loops_of<Minimum, float>(is_double);
    case Reduction::prod:
      return loops_of<Product, double>(is_double);
    default:
      return loops_of<Sum, double>(is_double);
  }
}

}  // namespace arbalest::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace arbalest::cpu {

HWY_EXPORT(select_loops);

VectorLoops vector_reduce_loops(Reduction kind, bool is_double) {
  return HWY_DYNAMIC_DISPATCH(select_loops)(kind, is_double);
}

}  // namespace arbalest::cpu
#endif
