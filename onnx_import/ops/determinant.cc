// Det-11, 22: Gaussian elimination with row pivoting, written out for the size of the matrix.
#include "graph/base/error.h"
#include "graph/element_index.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

constexpr int64_t kMaxWrittenOut = 256;  // rows; each is a handful of nodes

struct Eliminated {
  Value pivot;  // [...]: the greatest element of the first column, negative if its row was not the first
  Value rest;   // [..., n - 1, n - 1]: the Schur complement
};

Eliminated eliminate_column(const Value& a, int64_t n) {
  const int row_axis = a.rank() - 2, column_axis = a.rank() - 1;
  Builder& b = a.builder();
  const Value first = slice(a, column_axis, 0, 1);
  const Value size = map([](Scalar e) { return abs(e); }, first);
  const Value chosen = b.emit_one(ArgReduce{Reduction::max, row_axis, true, false}, {size});
  const Value row = position_numbers(b, n, 0, 2);
  const Value picked = map([](Scalar e, Scalar r, Scalar c) { return select(equal(r, c), e, 0.0); }, a, row, chosen);
  const Value pivot_row = reduce(Reduction::sum, picked, {row_axis}, Keep::yes);
  const Value pivot = slice(pivot_row, column_axis, 0, 1);
  // The first row takes the place of the chosen one.
  const auto exchanged = [](Scalar e, Scalar top, Scalar r, Scalar c) { return select(equal(r + 1, c), top, e); };
  const Value below =
      map(exchanged, slice(a, row_axis, 1, n - 1), slice(a, row_axis, 0, 1), position_numbers(b, n - 1, 0, 2), chosen);
  const Value factor = map([](Scalar e, Scalar p) { return select(equal(p, 0), 0.0, e / select(equal(p, 0), 1.0, p)); },
                           slice(below, column_axis, 0, 1), pivot);
  const Value rest = map([](Scalar e, Scalar f, Scalar p) { return e - f * p; }, slice(below, column_axis, 1, n - 1),
                         factor, slice(pivot_row, column_axis, 1, n - 1));
  return {map([](Scalar p, Scalar c) { return select(equal(c, 0), p, -p); }, pivot, chosen), rest};
}

Values determinant(OpContext& op) {
  Value a = op.input(0);
  require(a.rank() >= 2, "the input has shape {}, expected square matrices", to_string(a.shape()));
  Shape shape = a.shape();
  const Dim columns = shape.back(), rows = shape[shape.size() - 2];
  require(!rows.is_constant() || !columns.is_constant() || rows == columns,
          "the input has shape {}, expected square matrices", to_string(shape));
  if (!rows.is_constant() || rows.value() > kMaxWrittenOut) {
    throw Error(ErrorKind::unsupported, "matrices of {} rows; up to {} can be written out", to_string(rows),
                kMaxWrittenOut);
  }
  shape.resize(shape.size() - 2);
  if (rows == Dim(0)) return {expand(op.builder().scalar(1, a.dtype()), shape)};
  Value product;
  for (int64_t n = rows.value(); n > 1; --n) {
    const Eliminated e = eliminate_column(a, n);
    product = product ? product * e.pivot : e.pivot;
    a = e.rest;
  }
  return {reshape(product ? product * a : a, shape)};
}

}  // namespace

void register_determinant(Translator& t);
void register_determinant(Translator& t) { t.add("Det", {11, 22}, determinant); }

}  // namespace arbalest
