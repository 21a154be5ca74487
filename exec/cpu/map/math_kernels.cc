// Elementary functions in f32, within a few units in the last place, exact at zeros, infinities and NaN.
//
// exp: reduction by multiples of ln 2 and a polynomial (coefficients of SLEEF, Shibata and Petrogalli, "SLEEF: A
// Portable Vectorized Library of C Standard Mathematical Functions", 2020). erf: minimax polynomials of N. Juffa. log,
// log1p, expm1, tanh, sin, cos: hwy/contrib/math, with the arguments that it leaves out.
#include <cmath>

#include "exec/cpu/map/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/map/math_kernels.cc"
#include "hwy/foreach_target.h"
// foreach_target comes first.
#include "exec/cpu/map/vector_loop-inl.h"
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace arbalest::mapping::HWY_NAMESPACE {

// NaN stays NaN: the vector instructions give it when it is the second operand, the portable code never.
template <class D, class V>
HWY_INLINE V at_most(D d, V x, float limit) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, limit)), hn::Set(d, limit), x);
#else
  return hn::Min(hn::Set(d, limit), x);
#endif
}

template <class D, class V>
HWY_INLINE V at_least(D d, V x, float limit) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, limit)), hn::Set(d, limit), x);
#else
  return hn::Max(hn::Set(d, limit), x);
#endif
}

struct Exp {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const hn::Rebind<int32_t, D> di;
    x = at_least(d, at_most(d, x, 104.0f), -104.0f);  // beyond, the result is 0 or infinity
    // Adding 1.5 * 2^23 rounds to a whole number q, which then is the lowest bits.
    const V magic = hn::Set(d, 12582912.0f);
    const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
    const V q = hn::Sub(shifted, magic);
    V r = hn::MulAdd(q, hn::Set(d, -0.693145751953125f), x);  // ln 2 in two parts
    r = hn::MulAdd(q, hn::Set(d, -1.428606765330187045e-6f), r);
    V p = hn::Set(d, 0.000198527617612853646278381f);
    p = hn::MulAdd(p, r, hn::Set(d, 0.00139304355252534151077271f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.00833336077630519866943359f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.0416664853692054748535156f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.166666671633720397949219f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
    p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0f));
    // 2^q in two factors, each a normal number. The exponent field of 2^e is e + 127.
    const auto whole = hn::Sub(hn::BitCast(di, shifted), hn::Set(di, 0x4b400000 - 2 * 127));
    const auto half = hn::ShiftRight<1>(whole);
    const V first = hn::BitCast(d, hn::ShiftLeft<23>(half));
    const V second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Sub(whole, half)));
    return hn::Mul(hn::Mul(p, first), second);
  }
};

// e / (1 + e) or 1 / (1 + e) with e = exp(-|x|): no cancellation, no overflow.
struct Sigmoid {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const V one = hn::Set(d, 1.0f);
    const V e = Exp::of(d, hn::Neg(hn::Abs(x)));
    return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
  }
};

struct Erf {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const auto c = [&](float value) HWY_ATTR { return hn::Set(d, value); };
    const V s = hn::Mul(x, x);
    V near = c(-5.96761703e-4f);
    near = hn::MulAdd(near, s, c(4.99119423e-3f));
    near = hn::MulAdd(near, s, c(-2.67681349e-2f));
    near = hn::MulAdd(near, s, c(1.12819925e-1f));
    near = hn::MulAdd(near, s, c(-3.76125336e-1f));
    near = hn::MulAdd(near, s, c(1.28379166e-1f));
    near = hn::MulAdd(near, x, x);
    // 1 - exp(polynomial of |x|); 1 from 4 on.
    const V t = at_most(d, hn::Abs(x), 4.0f);
    const V t2 = hn::Mul(t, t);
    V far = hn::MulAdd(c(-1.72853470e-5f), t, c(3.83197126e-4f));
    const V u = hn::MulAdd(c(-3.88396438e-3f), t, c(2.42546219e-2f));
    far = hn::MulAdd(far, t2, u);
    far = hn::MulAdd(far, t, c(-1.06777877e-1f));
    far = hn::MulAdd(far, t, c(-6.34846687e-1f));
    far = hn::MulAdd(far, t, c(-1.28717512e-1f));
    far = hn::MulAdd(far, t, hn::Neg(t));
    far = hn::CopySign(hn::Sub(c(1.0f), Exp::of(d, far)), x);
    return hn::IfThenElse(hn::Gt(hn::Abs(x), c(0.927734375f)), far, near);
  }
};

// The logarithm y of u, which is finite and positive, corrected for any u; x is what +inf and NaN give.
template <class D, class V>
HWY_INLINE V complete_log(D d, V y, V u, V x) {
  y = hn::IfThenElse(hn::Lt(u, hn::Inf(d)), y, x);
  const V not_positive = hn::IfThenElse(hn::Eq(u, hn::Zero(d)), hn::Neg(hn::Inf(d)), hn::NaN(d));
  return hn::IfThenElse(hn::Le(u, hn::Zero(d)), not_positive, y);
}

struct Log {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    return complete_log(d, hn::Log(d, x), x, x);
  }
};

struct Log1p {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    return complete_log(d, hn::Log1p(d, x), hn::Add(x, hn::Set(d, 1.0f)), x);
  }
};

struct Expm1 {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    return hn::Expm1(d, at_most(d, x, 104.0f));
  }
};

// Near 0 an odd polynomial (Cephes tanhf), else 1 - 2 / (exp(2 |x|) + 1).
struct Tanh {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const auto c = [&](float value) HWY_ATTR { return hn::Set(d, value); };
    const V s = hn::Mul(x, x);
    V near = c(-5.70498872745e-3f);
    near = hn::MulAdd(near, s, c(2.06390887954e-2f));
    near = hn::MulAdd(near, s, c(-5.37397155531e-2f));
    near = hn::MulAdd(near, s, c(1.33314422036e-1f));
    near = hn::MulAdd(near, s, c(-3.33332819422e-1f));
    near = hn::MulAdd(hn::Mul(near, s), x, x);
    const V t = hn::Abs(x);
    const V e = Exp::of(d, hn::Add(t, t));
    const V far = hn::Sub(c(1.0f), hn::Div(c(2.0f), hn::Add(e, c(1.0f))));
    return hn::IfThenElse(hn::Gt(t, c(0.625f)), hn::CopySign(far, x), near);
  }
};

// Arguments that need more bits of pi than the vector code has are rare; they are computed one by one.
template <class D, class V>
HWY_INLINE V repair_large(D d, V x, V y, float (*exact)(float)) {
  const auto in_range = hn::Lt(hn::Abs(x), hn::Set(d, 30000.0f));
  if (HWY_LIKELY(hn::AllTrue(d, in_range))) return y;
  HWY_ALIGN float from[hn::MaxLanes(d)], to[hn::MaxLanes(d)];
  hn::Store(x, d, from);
  hn::Store(y, d, to);
  for (size_t i = 0; i < hn::Lanes(d); ++i)
    if (!(std::fabs(from[i]) < 30000.0f)) to[i] = exact(from[i]);
  return hn::Load(d, to);
}

struct Sin {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    return repair_large(d, x, hn::Sin(d, x), [](float a) { return std::sin(a); });
  }
};

struct Cos {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    return repair_large(d, x, hn::Cos(d, x), [](float a) { return std::cos(a); });
  }
};

Kernel choose_math(ScalarOp op) {
  switch (op) {
    case ScalarOp::exp:
      return &vector_loop<Exp, float, 1, 1>;
    case ScalarOp::sigmoid:
      return &vector_loop<Sigmoid, float, 1, 1>;
    case ScalarOp::erf:
      return &vector_loop<Erf, float, 1, 1>;
    case ScalarOp::log:
      return &vector_loop<Log, float, 1, 1>;
    case ScalarOp::log1p:
      return &vector_loop<Log1p, float, 1, 1>;
    case ScalarOp::expm1:
      return &vector_loop<Expm1, float, 1, 1>;
    case ScalarOp::tanh:
      return &vector_loop<Tanh, float, 1, 1>;
    case ScalarOp::sin:
      return &vector_loop<Sin, float, 1, 1>;
    case ScalarOp::cos:
      return &vector_loop<Cos, float, 1, 1>;
    default:
      return nullptr;
  }
}

}  // namespace arbalest::mapping::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace arbalest::mapping {

HWY_EXPORT(choose_math);

Kernel math_kernel(ScalarOp op, Format f) { return f == Format::f32 ? HWY_DYNAMIC_DISPATCH(choose_math)(op) : nullptr; }

}  // namespace arbalest::mapping
#endif  // HWY_ONCE
