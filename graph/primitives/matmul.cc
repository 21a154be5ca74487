#include "graph/primitives/matmul.h"

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

}  // namespace arbalest
