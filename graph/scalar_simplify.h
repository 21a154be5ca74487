// Rewrites that Scalar::make applies to a new node; the operands are simplified already.
//
// They keep the value for all finite inputs, and the bits except for the sign of zero. For infinities and NaN they may
// give the finite limit: 0 * x is 0 (the factor 0 comes from a derivative).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "graph/scalar.h"

namespace arbalest {

// Constants stand on the left of mul and on the right of the other commutative operations.
void order_operands(ScalarOp op, std::vector<Scalar>& operands);
// Something simpler than the node, or nothing.
std::optional<Scalar> simplify(ScalarOp op, const std::vector<Scalar>& operands);
std::optional<Scalar> simplify_cast(const Scalar& x, DataType to);

}  // namespace arbalest
