#include <dnnl.h>

#include <cstring>

#include "exec/cpu/kernels/axis_view.h"
#include "exec/cpu/kernels/kernels.h"

namespace arbalest::cpu {
namespace {

// y[m, n] = op(a) op(b) + bias for each pair of matrices; leading axes of a and b broadcast.
struct Products {
  bool transpose_a, transpose_b;
  int64_t m, n, k;
  std::vector<int64_t> a_offsets, b_offsets;  // in elements, one an output matrix
};

int64_t product(const Dims& dims, size_t first, size_t last) {
  int64_t p = 1;
  for (size_t i = first; i < last; ++i) p *= dims[i];
  return p;
}

// Offset of the matrix of `dims` that output matrix `index` uses.
int64_t matrix_offset(const Dims& dims, const Dims& output, int64_t index) {
  const size_t lead = output.size() - 2, missing = output.size() - dims.size();
  int64_t offset = 0, stride = dims[dims.size() - 1] * dims[dims.size() - 2];
  for (size_t axis = lead; axis-- > 0;) {
    const int64_t position = index % output[axis];
    index /= output[axis];
    if (axis < missing) continue;
    const int64_t size = dims[axis - missing];
    if (size > 1) offset += position * stride;
    stride *= size;
  }
  return offset;
}

Products products_of(const MatMul& p, PrepareContext& c) {
  const Dims a = c.input_type(0).dims(), b = c.input_type(1).dims(), y = c.output_type(0).dims();
  Products s{
      p.transpose_a, p.transpose_b, y[y.size() - 2], y[y.size() - 1], a[a.size() - (p.transpose_a ? 2 : 1)], {}, {}};
  int64_t matrices = product(y, 0, y.size() - 2);
  if (b.size() == 2 && !p.transpose_a) {  // one matrix b for all: the leading axes of a are more rows
    s.m *= matrices;
    matrices = matrices ? 1 : 0;
  }
  for (int64_t i = 0; i < matrices; ++i) {
    s.a_offsets.push_back(matrices == 1 ? 0 : matrix_offset(a, y, i));
    s.b_offsets.push_back(matrices == 1 ? 0 : matrix_offset(b, y, i));
  }
  return s;
}

void gemm(const Products& s, const float* a, const float* b, float* y, float beta) {
  const dnnl_dim_t lda = s.transpose_a ? s.m : s.k, ldb = s.transpose_b ? s.k : s.n;
  dnnl_sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', s.m, s.n, s.k, 1.0f, a, lda, b, ldb, beta, y, s.n);
}

void gemm(const Products& s, const double* a, const double* b, double* y, double beta) {
  const int64_t a_row = s.transpose_a ? 1 : s.k, a_column = s.transpose_a ? s.m : 1;
  const int64_t b_row = s.transpose_b ? 1 : s.n, b_column = s.transpose_b ? s.k : 1;
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      double sum = beta == 0 ? 0 : y[i * s.n + j];
      for (int64_t l = 0; l < s.k; ++l) sum += a[i * a_row + l * a_column] * b[l * b_row + j * b_column];
      y[i * s.n + j] = sum;
    }
}

template <class T>
void multiply(const Products& s, const T* a, const T* b, const T* bias, T* y) {
  const int64_t size = s.m * s.n;
  for (size_t i = 0; i < s.a_offsets.size(); ++i, y += size) {
    if (bias)
      for (int64_t row = 0; row < s.m; ++row) std::memcpy(y + row * s.n, bias, s.n * sizeof(T));
    if (s.k > 0)
      gemm(s, a + s.a_offsets[i], b + s.b_offsets[i], y, bias ? T{1} : T{0});
    else if (!bias)
      std::memset(y, 0, size * sizeof(T));
  }
}

}  // namespace

Prepared prepare(const MatMul& p, PrepareContext& c) {
  for (int i = 0; i < c.input_count(); ++i) c.require_row_major(i);
  const Products s = products_of(p, c);
  const bool empty = element_count(c.output_type(0).dims()) == 0;
  return for_float_type(c.input_type(0).dtype, [&](auto tag) -> Prepared {
    using T = decltype(tag);
    Prepared prepared;
    prepared.implementation = std::is_same_v<T, float> ? "sgemm" : "loops";
    prepared.flops = 2.0 * static_cast<double>(s.m * s.n * s.k) * static_cast<double>(s.a_offsets.size());
    prepared.bind = [s, empty, bias = p.bias](const KernelArgs& a) -> BoundKernel {
      if (empty) return [] {};
      const T* x = static_cast<const T*>(a.inputs[0]);
      const T* w = static_cast<const T*>(a.inputs[1]);
      const T* b = bias ? static_cast<const T*>(a.inputs[2]) : nullptr;
      T* y = static_cast<T*>(a.outputs[0]);
      return [s, x, w, b, y] { multiply(s, x, w, b, y); };
    };
    return prepared;
  });
}

}  // namespace arbalest::cpu
