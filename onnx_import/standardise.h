// What LayerNormalization and its relatives have in common.
#pragma once

#include "graph/builder.h"

namespace arbalest {

struct Standardised {
  Value y, mean, inverse_deviation;
};
// (x - mean) / sqrt(variance + epsilon) over the axes.
Standardised standardised(const Value& x, const std::vector<int>& axes, float epsilon);

// x / sqrt(mean of x^2 + epsilon) over the axes; without a mean.
Standardised root_mean_square_normalised(const Value& x, const std::vector<int>& axes, float epsilon);

// y * scale + bias; the bias may be none.
Value scaled(const Value& y, const Value& scale, const Value& bias);

}  // namespace arbalest
