// What operators that read an image between its pixels have in common.
#pragma once

#include "graph/builder.h"

namespace arbalest {

int64_t known_size(const Dim& d, const char* what);  // unsupported error where it depends on symbols

Scalar floor_of(const Scalar& x);
Scalar bounded(const Scalar& x, double low, double high);

// What one axis contributes to each sample: a pixel (int64, inside the image) and how much it counts.
struct Tap {
  Value index, weight;
};

// The pixels of all images [batch, channels, ...] as rows, [batch * pixels, channels].
Value pixel_rows(const Value& x);

}  // namespace arbalest
