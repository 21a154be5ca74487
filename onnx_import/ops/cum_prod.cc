// Products of all elements up to each one.
#include <algorithm>

#include "graph/base/error.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

// Elements moved along an axis by `count` places, towards the end or the beginning; ones come in.
Value shifted_in_ones(const Value& x, int axis, int64_t count, bool to_the_end) {
  const auto i = static_cast<size_t>(axis);
  Pad pad{std::vector<Dim>(x.shape().size(), Dim(0)), std::vector<Dim>(x.shape().size(), Dim(0)), 1};
  (to_the_end ? pad.begin : pad.end)[i] = count;
  const Dim size = x.shape()[i];
  const Value kept = slice(x, axis, to_the_end ? Dim(0) : Dim(count), size - count);
  return x.builder().emit_one(std::move(pad), {kept});
}

// CumProd-26: after step d each element is the product of the 2^d elements that end in it (Hillis and Steele 1986).
Values cum_prod(OpContext& op) {
  Value y = op.input(0);
  const std::vector<int64_t> given = op.constant_integers(1);
  require(given.size() == 1, "the axis has {} elements, expected one", given.size());
  const int axis = normalise_axis(given[0], y.rank());
  const Dim size = y.shape()[static_cast<size_t>(axis)];
  if (!size.is_constant()) throw Error(ErrorKind::unsupported, "axis {} has the open size {}", axis, to_string(size));
  const bool to_the_end = op.attribute("reverse", 0) == 0;
  if (op.attribute("exclusive", 0) != 0 && size.value() > 0) y = shifted_in_ones(y, axis, 1, to_the_end);
  for (int64_t reach = 1; reach < size.value(); reach *= 2) y = y * shifted_in_ones(y, axis, reach, to_the_end);
  return {y};
}

}  // namespace

void register_cum_prod(Translator& t);
void register_cum_prod(Translator& t) { t.add("CumProd", {26}, cum_prod); }

}  // namespace arbalest
