// Short forms of Scalar::make and Scalar::constant, for the files that build and rewrite scalar expressions.
#pragma once

#include <utility>

#include "graph/scalar.h"

namespace arbalest {

inline Scalar make(ScalarOp op, Scalar x) { return Scalar::make(op, {std::move(x)}); }
inline Scalar make(ScalarOp op, Scalar a, Scalar b) { return Scalar::make(op, {std::move(a), std::move(b)}); }

// A constant of the type of `like`.
inline Scalar number(double value, const Scalar& like) { return Scalar::constant(value, like.type()); }

inline bool is_unsigned(DataType t) {
  return t == DataType::u8 || t == DataType::u16 || t == DataType::u32 || t == DataType::u64;
}

}  // namespace arbalest
