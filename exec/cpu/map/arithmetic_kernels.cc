// Arithmetic, comparisons and fused sequences in f32 and f64.
#include "exec/cpu/map/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/map/arithmetic_kernels.cc"
#include "hwy/foreach_target.h"
// foreach_target comes first.
#include "exec/cpu/map/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace arbalest::mapping::HWY_NAMESPACE {

template <class D, class M>
HWY_INLINE hn::Vec<D> as_vector(D d, M mask) {
  return hn::VecFromMask(d, mask);
}

// One struct an operation: of(d, operands...) computes one vector.
#define ARBALEST_UNARY(Name, ...)                       \
  struct Name {                                         \
    template <class D, class V>                         \
    static HWY_INLINE V of([[maybe_unused]] D d, V a) { \
      return __VA_ARGS__;                               \
    }                                                   \
  };
#define ARBALEST_BINARY(Name, ...)                           \
  struct Name {                                              \
    template <class D, class V>                              \
    static HWY_INLINE V of([[maybe_unused]] D d, V a, V b) { \
      return __VA_ARGS__;                                    \
    }                                                        \
  };
#define ARBALEST_TERNARY(Name, ...)                               \
  struct Name {                                                   \
    template <class D, class V>                                   \
    static HWY_INLINE V of([[maybe_unused]] D d, V a, V b, V c) { \
      return __VA_ARGS__;                                         \
    }                                                             \
  };

ARBALEST_UNARY(Neg, hn::Neg(a))
ARBALEST_UNARY(Abs, hn::Abs(a))
ARBALEST_UNARY(Sign, hn::IfThenElse(hn::Gt(a, hn::Zero(d)), hn::Set(d, 1),
                                    hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Set(d, -1), a)))
ARBALEST_UNARY(Floor, hn::Floor(a))
ARBALEST_UNARY(Ceil, hn::Ceil(a))
ARBALEST_UNARY(Round, hn::Round(a))
ARBALEST_UNARY(Sqrt, hn::Sqrt(a))
ARBALEST_UNARY(Reciprocal, hn::Div(hn::Set(d, 1), a))
ARBALEST_UNARY(Relu, hn::IfThenZeroElse(hn::Lt(a, hn::Zero(d)), a))  // keeps NaN
ARBALEST_UNARY(IsNan, as_vector(d, hn::IsNaN(a)))
ARBALEST_UNARY(IsInf, as_vector(d, hn::Eq(hn::Abs(a), hn::Inf(d))))
ARBALEST_BINARY(Add, hn::Add(a, b))
ARBALEST_BINARY(Sub, hn::Sub(a, b))
ARBALEST_BINARY(Mul, hn::Mul(a, b))
ARBALEST_BINARY(Div, hn::Div(a, b))
// NaN wins: a when a is NaN, and b when the comparison with NaN is false.
ARBALEST_BINARY(Min, hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b))
ARBALEST_BINARY(Max, hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b))
ARBALEST_BINARY(Equal, as_vector(d, hn::Eq(a, b)))
ARBALEST_BINARY(Less, as_vector(d, hn::Lt(a, b)))
ARBALEST_BINARY(LessEqual, as_vector(d, hn::Le(a, b)))
ARBALEST_TERNARY(Select, hn::IfThenElse(hn::MaskFromVec(a), b, c))
ARBALEST_TERNARY(MulAdd, hn::MulAdd(a, b, c))
ARBALEST_TERNARY(MulSub, hn::MulSub(a, b, c))
ARBALEST_TERNARY(NegMulAdd, hn::NegMulAdd(a, b, c))
ARBALEST_TERNARY(MulAddRelu, Relu::of(d, hn::MulAdd(a, b, c)))
ARBALEST_TERNARY(SubMul, hn::Mul(hn::Sub(a, b), c))
ARBALEST_BINARY(AddRelu, Relu::of(d, hn::Add(a, b)))

struct SelectLess {
  template <class D, class V>
  static HWY_INLINE V of(D, V a, V b, V c, V e) {
    return hn::IfThenElse(hn::Lt(a, b), c, e);
  }
};

#undef ARBALEST_UNARY
#undef ARBALEST_BINARY
#undef ARBALEST_TERNARY

template <class T>
Kernel arithmetic(ScalarOp op) {
  switch (op) {
    case ScalarOp::neg:
      return &vector_loop<Neg, T, 1, 2>;
    case ScalarOp::abs:
      return &vector_loop<Abs, T, 1, 2>;
    case ScalarOp::sign:
      return &vector_loop<Sign, T, 1, 2>;
    case ScalarOp::floor:
      return &vector_loop<Floor, T, 1, 2>;
    case ScalarOp::ceil:
      return &vector_loop<Ceil, T, 1, 2>;
    case ScalarOp::round:
      return &vector_loop<Round, T, 1, 2>;
    case ScalarOp::sqrt:
      return &vector_loop<Sqrt, T, 1, 2>;
    case ScalarOp::reciprocal:
      return &vector_loop<Reciprocal, T, 1, 2>;
    case ScalarOp::relu:
      return &vector_loop<Relu, T, 1, 2>;
    case ScalarOp::is_nan:
      return &vector_loop<IsNan, T, 1, 2>;
    case ScalarOp::is_inf:
      return &vector_loop<IsInf, T, 1, 2>;
    case ScalarOp::add:
      return &vector_loop<Add, T, 2, 2>;
    case ScalarOp::sub:
      return &vector_loop<Sub, T, 2, 2>;
    case ScalarOp::mul:
      return &vector_loop<Mul, T, 2, 2>;
    case ScalarOp::div:
      return &vector_loop<Div, T, 2, 2>;
    case ScalarOp::min:
      return &vector_loop<Min, T, 2, 2>;
    case ScalarOp::max:
      return &vector_loop<Max, T, 2, 2>;
    case ScalarOp::equal:
      return &vector_loop<Equal, T, 2, 2>;
    case ScalarOp::less:
      return &vector_loop<Less, T, 2, 2>;
    case ScalarOp::less_equal:
      return &vector_loop<LessEqual, T, 2, 2>;
    case ScalarOp::select:
      return &vector_loop<Select, T, 3, 2>;
    default:
      return nullptr;
  }
}

template <class T>
Kernel fused(Fusion fusion) {
  switch (fusion) {
    case Fusion::mul_add:
      return &vector_loop<MulAdd, T, 3, 2>;
    case Fusion::mul_sub:
      return &vector_loop<MulSub, T, 3, 2>;
    case Fusion::neg_mul_add:
      return &vector_loop<NegMulAdd, T, 3, 2>;
    case Fusion::add_relu:
      return &vector_loop<AddRelu, T, 2, 2>;
    case Fusion::mul_add_relu:
      return &vector_loop<MulAddRelu, T, 3, 2>;
    case Fusion::sub_mul:
      return &vector_loop<SubMul, T, 3, 2>;
    case Fusion::select_less:
      return &vector_loop<SelectLess, T, 4, 2>;
  }
  return nullptr;
}

Kernel choose_arithmetic(ScalarOp op, Format f) {
  return f == Format::f32 ? arithmetic<float>(op) : arithmetic<double>(op);
}
Kernel choose_fused(Fusion fusion, Format f) { return f == Format::f32 ? fused<float>(fusion) : fused<double>(fusion); }

}  // namespace arbalest::mapping::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace arbalest::mapping {

HWY_EXPORT(choose_arithmetic);
HWY_EXPORT(choose_fused);

Kernel arithmetic_kernel(ScalarOp op, Format f) {
  // A select only moves bits, so the lanes of a width share it.
  if (op == ScalarOp::select && f == Format::mask32) f = Format::f32;
  if (op == ScalarOp::select && (f == Format::mask64 || f == Format::i64 || f == Format::u64)) f = Format::f64;
  return f == Format::f32 || f == Format::f64 ? HWY_DYNAMIC_DISPATCH(choose_arithmetic)(op, f) : nullptr;
}

Kernel fusion_kernel(Fusion fusion, Format f) {
  return f == Format::f32 || f == Format::f64 ? HWY_DYNAMIC_DISPATCH(choose_fused)(fusion, f) : nullptr;
}

}  // namespace arbalest::mapping
#endif  // HWY_ONCE
