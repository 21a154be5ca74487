// Integers and masks, rare operations of any format, and copies: plain loops.
#include <cstring>

#include "exec/cpu/map/kernels.h"
#include "graph/base/error.h"
#include "graph/scalar_value.h"

namespace arbalest::mapping {

namespace {

template <class T, class F>
void unary(const Call& call, F f) {
  const T* a = static_cast<const T*>(call.in[0]);
  T* out = static_cast<T*>(call.out);
  for (size_t i = 0; i < call.n; ++i) out[i] = f(a[i * call.step[0]]);
}

template <class T, class F>
void binary(const Call& call, F f) {
  const T* a = static_cast<const T*>(call.in[0]);
  const T* b = static_cast<const T*>(call.in[1]);
  T* out = static_cast<T*>(call.out);
  const size_t step_a = call.step[0], step_b = call.step[1];
  for (size_t i = 0; i < call.n; ++i) out[i] = f(a[i * step_a], b[i * step_b]);
}

// Lanes are unsigned here, where overflow wraps; `Signed` says how they compare.
template <class Signed>
Kernel integer(ScalarOp op) {
  using U = uint64_t;
  switch (op) {
    case ScalarOp::neg:
      return [](const Call& c) { unary<U>(c, [](U a) { return 0 - a; }); };
    case ScalarOp::add:
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return a + b; }); };
    case ScalarOp::sub:
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return a - b; }); };
    case ScalarOp::mul:
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return a * b; }); };
    case ScalarOp::min:
      return [](const Call& c) {
        binary<U>(c, [](U a, U b) { return static_cast<Signed>(a) < static_cast<Signed>(b) ? a : b; });
      };
    case ScalarOp::max:
      return [](const Call& c) {
        binary<U>(c, [](U a, U b) { return static_cast<Signed>(a) < static_cast<Signed>(b) ? b : a; });
      };
    case ScalarOp::less:
      return [](const Call& c) {
        binary<U>(c, [](U a, U b) { return 0 - static_cast<U>(static_cast<Signed>(a) < static_cast<Signed>(b)); });
      };
    case ScalarOp::less_equal:
      return [](const Call& c) {
        binary<U>(c, [](U a, U b) { return 0 - static_cast<U>(static_cast<Signed>(a) <= static_cast<Signed>(b)); });
      };
    case ScalarOp::equal:
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return 0 - static_cast<U>(a == b); }); };
    case ScalarOp::bit_not:
      return [](const Call& c) { unary<U>(c, [](U a) { return ~a; }); };
    case ScalarOp::bit_and:
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return a & b; }); };
    case ScalarOp::bit_or:
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return a | b; }); };
    case ScalarOp::bit_xor:
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return a ^ b; }); };
    default:
      return nullptr;
  }
}

template <class U>
Kernel logic(ScalarOp op) {
  switch (op) {
    case ScalarOp::logical_not:
      return [](const Call& c) { unary<U>(c, [](U a) { return static_cast<U>(~a); }); };
    case ScalarOp::logical_and:
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return a & b; }); };
    case ScalarOp::logical_or:
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return a | b; }); };
    case ScalarOp::logical_xor:
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return a ^ b; }); };
    case ScalarOp::equal:
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return static_cast<U>(~(a ^ b)); }); };
    case ScalarOp::less:  // false < true
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return static_cast<U>(~a & b); }); };
    case ScalarOp::less_equal:
      return [](const Call& c) { binary<U>(c, [](U a, U b) { return static_cast<U>(~a | b); }); };
    default:
      return nullptr;
  }
}

template <class T>
ScalarValue to_value(T x) {
  if constexpr (std::is_floating_point_v<T>) return {static_cast<double>(x), 0};
  return {0, static_cast<int64_t>(x)};
}

template <class T, DataType type>
void reference(const Call& call) {
  const size_t operands = static_cast<size_t>(operand_count(call.op));
  T* out = static_cast<T*>(call.out);
  for (size_t i = 0; i < call.n; ++i) {
    std::array<ScalarValue, 2> values;
    for (size_t k = 0; k < operands; ++k) values[k] = to_value(static_cast<const T*>(call.in[k])[i * call.step[k]]);
    const ScalarValue result = apply(call.op, type, {values.data(), operands});
    if constexpr (std::is_floating_point_v<T>)
      out[i] = static_cast<T>(result.real);
    else
      out[i] = static_cast<T>(result.integer);
  }
}

template <class T>
void copy(const Call& call) {
  if (call.step[0] == 1) {
    if (call.out != call.in[0]) std::memcpy(call.out, call.in[0], call.n * sizeof(T));
    return;
  }
  const T value = *static_cast<const T*>(call.in[0]);
  T* out = static_cast<T*>(call.out);
  for (size_t i = 0; i < call.n; ++i) out[i] = value;
}

}  // namespace

size_t lane_bytes(Format f) {
  if (f == Format::mask32) return 4;
  return f == Format::mask64 ? 8 : size_of(static_cast<DataType>(f));
}

Kernel integer_kernel(ScalarOp op, Format f) {
  switch (f) {
    case Format::i64:
      return integer<int64_t>(op);
    case Format::u64:
      return integer<uint64_t>(op);
    case Format::mask32:
      return logic<uint32_t>(op);
    case Format::mask64:
      return logic<uint64_t>(op);
    default:
      return nullptr;
  }
}

Kernel reference_kernel(ScalarOp op, Format f) {
  if (op == ScalarOp::select) return nullptr;
  switch (f) {
    case Format::f32:
      return &reference<float, DataType::f32>;
    case Format::f64:
      return &reference<double, DataType::f64>;
    case Format::i64:
      return &reference<int64_t, DataType::i64>;
    case Format::u64:
      return &reference<uint64_t, DataType::u64>;
    default:
      return nullptr;
  }
}

Kernel operation_kernel(ScalarOp op, Format f) {
  for (const auto choose : {arithmetic_kernel, math_kernel, integer_kernel, reference_kernel})
    if (const Kernel kernel = choose(op, f)) return kernel;
  return nullptr;
}

Kernel copy_kernel(Format f) {
  switch (lane_bytes(f)) {
    case 1:
      return &copy<uint8_t>;
    case 2:
      return &copy<uint16_t>;
    case 4:
      return &copy<uint32_t>;
    default:
      return &copy<uint64_t>;
  }
}

}  // namespace arbalest::mapping
