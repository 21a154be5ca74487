#include "exec/cpu/kernels/reduce_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace arbalest::cpu {

namespace {

template <Reduction kind>
constexpr bool is_extreme = kind == Reduction::max || kind == Reduction::min;

template <Reduction kind, class T>
using Accumulator = std::conditional_t<is_extreme<kind>, T,
                                       std::conditional_t<std::is_floating_point_v<T>, double,
                                                          std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>>;

template <Reduction kind, class A>
constexpr A neutral() {
  using Limits = std::numeric_limits<A>;
  if (kind == Reduction::max) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if (kind == Reduction::min) return Limits::has_infinity ? Limits::infinity() : Limits::max();
  return kind == Reduction::prod ? 1 : 0;
}

template <Reduction kind, class A>
A apply(A a, A b) {
  if constexpr (kind == Reduction::max) {
    return b > a || b != b ? b : a;
  } else if constexpr (kind == Reduction::min) {
    return b < a || b != b ? b : a;
  } else if constexpr (std::is_integral_v<A>) {  // unsigned: wraps around
    const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
    return static_cast<A>(kind == Reduction::prod ? ua * ub : ua + ub);
  } else {
    return kind == Reduction::prod ? a * b : a + b;
  }
}

template <Reduction kind, class T>
struct Plain {
  using A = Accumulator<kind, T>;

  static void start(int64_t n, void* accumulators) {
    std::fill_n(static_cast<A*>(accumulators), n, neutral<kind, A>());
  }

  static void rows(const void* in, int64_t rows, int64_t stride, int64_t n, void* accumulators) {
    A sum = *static_cast<A*>(accumulators);
    for (int64_t r = 0; r < rows; ++r) {
      const T* x = static_cast<const T*>(in) + r * stride;
      for (int64_t j = 0; j < n; ++j) sum = apply<kind, A>(sum, static_cast<A>(x[j]));
    }
    *static_cast<A*>(accumulators) = sum;
  }

  static void columns(const void* in, int64_t rows, int64_t stride, int64_t n, void* accumulators) {
    A* acc = static_cast<A*>(accumulators);
    for (int64_t r = 0; r < rows; ++r) {
      const T* x = static_cast<const T*>(in) + r * stride;
      for (int64_t j = 0; j < n; ++j) acc[j] = apply<kind, A>(acc[j], static_cast<A>(x[j]));
    }
  }

  static void combine(const void* partial, int64_t n, void* accumulators) {
    A* acc = static_cast<A*>(accumulators);
    for (int64_t j = 0; j < n; ++j) acc[j] = apply<kind, A>(acc[j], static_cast<const A*>(partial)[j]);
  }

  static void finish(const void* accumulators, int64_t n, int64_t count, void* out) {
    const A* acc = static_cast<const A*>(accumulators);
    for (int64_t j = 0; j < n; ++j) {
      A value = acc[j];
      if (kind == Reduction::mean) {
        if (std::is_floating_point_v<T>) {
          value = value / static_cast<A>(count);
        } else {
          value = count == 0 ? A{0} : static_cast<A>(value / static_cast<A>(count));
        }
      }
      static_cast<T*>(out)[j] = static_cast<T>(value);
    }
  }
};

template <Reduction kind, class T>
ReduceLoops loops_of() {
  using P = Plain<kind, T>;
  ReduceLoops loops = {sizeof(typename P::A), P::start, P::rows, P::columns, P::combine, P::finish};
  if constexpr (std::is_floating_point_v<T>) {
    const VectorLoops vector = vector_reduce_loops(kind, std::is_same_v<T, double>);
    loops.rows = vector.rows;
    loops.columns = vector.columns;
  }
  return loops;
}

template <class T>
ReduceLoops loops_for(Reduction kind) {
  switch (kind) {
    case Reduction::sum:
      return loops_of<Reduction::sum, T>();
    case Reduction::mean:
      return loops_of<Reduction::mean, T>();
    case Reduction::max:
      return loops_of<Reduction::max, T>();
    case Reduction::min:
      return loops_of<Reduction::min, T>();
    case Reduction::prod:
      return loops_of<Reduction::prod, T>();
  }
  return {};
}

}  // namespace

ReduceLoops reduce_loops(Reduction kind, DataType type) {
  switch (type) {
    case DataType::f32:
      return loops_for<float>(kind);
    case DataType::f64:
      return loops_for<double>(kind);
    case DataType::i8:
      return loops_for<int8_t>(kind);
    case DataType::i16:
      return loops_for<int16_t>(kind);
    case DataType::i32:
      return loops_for<int32_t>(kind);
    case DataType::i64:
      return loops_for<int64_t>(kind);
    case DataType::u8:
      return loops_for<uint8_t>(kind);
    case DataType::u16:
      return loops_for<uint16_t>(kind);
    case DataType::u32:
      return loops_for<uint32_t>(kind);
    case DataType::u64:
      return loops_for<uint64_t>(kind);
    case DataType::boolean:  // stored as 0 or 1
      if (kind == Reduction::max) return loops_of<Reduction::max, uint8_t>();
      if (kind == Reduction::min) return loops_of<Reduction::min, uint8_t>();
      break;
    case DataType::f16:
    case DataType::bf16:
      break;
  }
  throw Error(ErrorKind::unsupported, "a reduction of {}: convert it to float32 or an integer type first",
              name_of(type));
}

}  // namespace arbalest::cpu
