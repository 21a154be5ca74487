#include "onnx_import/pixels.h"

#include "graph/base/error.h"

namespace arbalest {

int64_t known_size(const Dim& d, const char* what) {
  if (!d.is_constant()) throw Error(ErrorKind::unsupported, "{} has the open size {}", what, to_string(d));
  return d.value();
}

Scalar floor_of(const Scalar& x) { return Scalar::make(ScalarOp::floor, {x}); }

Scalar bounded(const Scalar& x, double low, double high) { return select(x < low, low, select(x > high, high, x)); }

Value pixel_rows(const Value& x) {
  std::vector<int> permutation{0};
  Dim rows = x.shape()[0];
  for (int i = 2; i < x.rank(); ++i) {
    permutation.push_back(i);
    rows = rows * x.shape()[static_cast<size_t>(i)];
  }
  permutation.push_back(1);
  return reshape(transpose(x, permutation), {rows, x.shape()[1]});
}

}  // namespace arbalest
