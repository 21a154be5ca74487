// Matrix products.
#include <algorithm>

#include "graph/base/error.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

// MatMul-1, 9, 13: NumPy's; a vector on the left is a row, on the right a column
Values matrix_product(OpContext& op) {
  const Value a = op.input(0), b = op.input(1);
  require(a.rank() >= 1 && b.rank() >= 1, "a scalar operand: {} and {}", to_string(a.type()), to_string(b.type()));
  require(a.dtype() == b.dtype(), "operands are {} and {}, expected one type", to_string(a.type()),
          to_string(b.type()));
  const Value rows = a.rank() == 1 ? reshape(a, {Dim(1), a.shape()[0]}) : a;
  const Value columns = b.rank() == 1 ? reshape(b, {b.shape()[0], Dim(1)}) : b;
  const Value y = matmul(rows, columns);
  Shape shape = y.shape();
  if (b.rank() == 1) shape.pop_back();
  if (a.rank() == 1) shape.erase(shape.end() - (b.rank() == 1 ? 1 : 2));
  return {reshape(y, shape)};
}

// The bias of each column, if the addend is that; else none.
Value column_bias(const Value& c, const Dim& columns) {
  const bool is_row = c.rank() == 1 || (c.rank() == 2 && c.shape()[0] == Dim(1));
  return is_row && c.shape()[static_cast<size_t>(c.rank()) - 1] == columns ? reshape(c, {columns}) : Value();
}

// Gemm-1, 6, 7, 9, 11, 13: alpha A B + beta C
Values gemm(OpContext& op) {
  op.ignore_attribute("broadcast");
  const Value a = op.input(0), b = op.input(1), c = op.optional_input(2);
  const float alpha = op.attribute("alpha", 1.0f);
  const float beta = op.attribute("beta", 1.0f);
  const bool transpose_a = op.attribute("transA", 0) != 0;
  const bool transpose_b = op.attribute("transB", 0) != 0;
  require(a.rank() == 2 && b.rank() == 2, "operands have shapes {} and {}, expected matrices", to_string(a.shape()),
          to_string(b.shape()));
  const Dim& columns = b.shape()[transpose_b ? 0 : 1];
  const Value addend = c && beta != 1 ? c * beta : c;
  const Value bias = addend && alpha == 1 ? column_bias(addend, columns) : Value();
  if (bias) return op.builder().emit(MatMul{transpose_a, transpose_b, true}, {a, b, bias});
  const Value product = matmul(a, b, transpose_a, transpose_b);
  const Value y = alpha == 1 ? product : product * alpha;
  if (!addend) return {y};
  require(broadcast(y.shape(), addend.shape()) == y.shape(), "input 2 has shape {}, which does not broadcast to {}",
          to_string(addend.shape()), to_string(y.shape()));
  return {y + addend};
}

}  // namespace

void register_linear(Translator& t);
void register_linear(Translator& t) {
  t.add("MatMul", {1, 9, 13}, matrix_product);
  t.add("Gemm", {1, 6, 7, 9, 11, 13}, gemm);
}

}  // namespace arbalest
