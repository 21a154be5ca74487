#include "graph/primitives/matmul.h"

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"

namespace arbalest {

namespace {

struct Matrix {
  Shape batch;
  Dim rows;
  Dim columns;
};

Matrix matrix(const TensorType& t, bool transpose, const char* what) {
  expect_float(t, what);
  require(t.rank() >= 2, "{} has rank {} ({}), expected at least 2", what, t.rank(), to_string(t.shape));
  Matrix m{{}, t.shape[t.shape.size() - 2], t.shape.back()};
  m.batch.assign(t.shape.begin(), t.shape.end() - 2);
  if (transpose) std::swap(m.rows, m.columns);
  return m;
}

}  // namespace

std::vector<TensorType> infer(const MatMul& p, Types in) {
  expect_inputs(in, p.bias ? 3 : 2, p.kName);
  const Matrix a = matrix(in[0], p.transpose_a, "the first operand");
  const Matrix b = matrix(in[1], p.transpose_b, "the second operand");
  expect_dtype(in[1], in[0].dtype, "the second operand");
  require(may_equal(a.columns, b.rows), "the first operand ({}) has {} columns, the second ({}) {} rows{}",
          to_string(in[0].shape), to_string(a.columns), to_string(in[1].shape), to_string(b.rows),
          p.transpose_a || p.transpose_b ? " (after transposing)" : "");
  Shape shape = broadcast(a.batch, b.batch);
  shape.push_back(a.rows);
  shape.push_back(b.columns);
  if (p.bias) {
    expect_dtype(in[2], in[0].dtype, "the bias");
    expect_shape(in[2].shape, {b.columns}, "the bias");
  }
  return {{in[0].dtype, shape}};
}

namespace {

// [..., m, n] as one matrix [... m, n].
Value stacked(const Value& x) {
  Dim rows(1);
  for (int i = 0; i + 1 < x.rank(); ++i) rows = rows * x.shape()[static_cast<size_t>(i)];
  return reshape(x, {rows, x.shape().back()});
}

}  // namespace

// da = dy op(b)', db = op(a)' dy, both transposed where the operand is. A matrix b that all of a's batch shares makes
// one large product of it. Sums over broadcast batch axes, and over the rows for the bias, are left to differentiate().
Values gradient(const MatMul& p, GradientContext& g) {
  const Value a = g.input(0), b = g.input(1), dy = g.output_gradient(0);
  Values result(p.bias ? 3 : 2);
  const bool stack = b.rank() == 2 && a.rank() > 2 && !p.transpose_a;
  if (g.needs(0)) {
    if (p.transpose_a) {
      result[0] = matmul(b, dy, p.transpose_b, true);
    } else if (stack) {
      result[0] = reshape(matmul(stacked(dy), b, false, !p.transpose_b), a.shape());
    } else {
      result[0] = matmul(dy, b, false, !p.transpose_b);
    }
  }
  if (g.needs(1)) {
    const Value rows = stack ? stacked(a) : a, slopes = stack ? stacked(dy) : dy;
    result[1] = p.transpose_b ? matmul(slopes, rows, true, p.transpose_a) : matmul(rows, slopes, !p.transpose_a, false);
  }
  if (p.bias && g.needs(2)) result[2] = dy;
  return result;
}

}  // namespace arbalest
