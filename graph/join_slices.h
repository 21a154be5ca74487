// Sums of gradients that come from slices of one value.
//
// Each slice gives a gradient of the value's whole shape, zero outside the slice. Where many slices cut one value along
// one axis (the steps of an unrolled loop), adding those up costs the square of their number; laid side by side they
// cost one pass.
#pragma once

#include "graph/builder.h"

namespace arbalest {

// Terms with the same sum: those that SliceBackward gives, for slices along one axis that do not overlap, are one
// Concat.
Values join_slices(const Values& terms);

}  // namespace arbalest
