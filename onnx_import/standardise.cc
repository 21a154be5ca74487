#include "onnx_import/standardise.h"

namespace arbalest {

Standardised standardised(const Value& x, const std::vector<int>& axes, float epsilon) {
  const Value mean = reduce(Reduction::mean, x, axes, Keep::yes);
  const Value centred = x - mean;
  const Value variance = reduce(Reduction::mean, centred * centred, axes, Keep::yes);
  const Value inverse = map([&](Scalar v) { return 1 / sqrt(v + epsilon); }, variance);
  return {centred * inverse, mean, inverse};
}

Standardised root_mean_square_normalised(const Value& x, const std::vector<int>& axes, float epsilon) {
  const Value square = reduce(Reduction::mean, x * x, axes, Keep::yes);
  const Value inverse = map([&](Scalar v) { return 1 / sqrt(v + epsilon); }, square);
  return {x * inverse, Value(), inverse};
}

Value scaled(const Value& y, const Value& scale, const Value& bias) {
  if (!bias) return y * scale;
  return map([](Scalar e, Scalar s, Scalar b) { return e * s + b; }, y, scale, bias);
}

}  // namespace arbalest
