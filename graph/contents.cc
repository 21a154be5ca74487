#include "graph/contents.h"

#include <algorithm>

#include "graph/contents_map.h"

namespace arbalest {

namespace {

constexpr int64_t kMaxFloatContents = 64;

using Inputs = std::span<const KnownTensor>;

// Steps of the linear index of a tensor along each axis of a larger index space; 0 where it is broadcast.
Dims broadcast_strides(const Dims& dims, size_t rank) {
  Dims strides(rank, 0);
  const Dims own = row_major_strides(dims);
  for (size_t i = 0; i < dims.size(); ++i) strides[rank - dims.size() + i] = dims[i] == 1 ? 0 : own[i];
  return strides;
}

// Elements at offset + sum of index * stride, over all indices of `dims` in row-major order.
Contents strided(const Contents& from, const Dims& dims, const Dims& strides, int64_t offset = 0) {
  Contents result;
  const int64_t count = element_count(dims);
  for (int64_t k = 0; k < count; ++k) {
    int64_t position = offset, rest = k;
    for (size_t i = dims.size(); i-- > 0; rest /= dims[i]) position += rest % dims[i] * strides[i];
    result.push_back(from.at(static_cast<size_t>(position)));
  }
  return result;
}

std::optional<Contents> evaluate(const Constant& p, Inputs, const TensorType& type) {
  const HostTensor& t = *p.value;
  Contents result;
  if (is_float(t.dtype)) {
    if (t.element_count() > kMaxFloatContents) return std::nullopt;
    const HostTensor wide = t.to(DataType::f64);
    for (const double v : wide.as<double>()) {
      if (!is_exact_integer(v)) return std::nullopt;
      result.push_back(static_cast<int64_t>(v));
    }
  } else {
    const HostTensor wide = t.to(DataType::i64);
    for (const int64_t v : wide.as<int64_t>()) {
      if (type.dtype == DataType::u64 && v < 0) return std::nullopt;
      result.push_back(v);
    }
  }
  return result;
}

std::optional<Contents> evaluate(const ShapeTensor& p, Inputs, const TensorType&) { return p.values; }

std::optional<Contents> evaluate(const StopGradient&, Inputs in, const TensorType&) { return *in[0].contents; }

std::optional<Contents> evaluate(const Reshape&, Inputs in, const TensorType&) { return *in[0].contents; }

std::optional<Contents> evaluate(const Transpose& p, Inputs in, const TensorType& type) {
  const Dims from = row_major_strides(in[0].type->dims());
  Dims strides;
  for (const int axis : p.permutation) strides.push_back(from[static_cast<size_t>(axis)]);
  return strided(*in[0].contents, type.dims(), strides);
}

std::optional<Contents> evaluate(const Expand&, Inputs in, const TensorType& type) {
  const Dims dims = type.dims();
  return strided(*in[0].contents, dims, broadcast_strides(in[0].type->dims(), dims.size()));
}

std::optional<Contents> evaluate(const Slice& p, Inputs in, const TensorType& type) {
  Dims strides = row_major_strides(in[0].type->dims());
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (!p.start[i].is_constant()) return std::nullopt;
    offset += p.start[i].value() * strides[i];
    strides[i] *= p.step[i];
  }
  return strided(*in[0].contents, type.dims(), strides, offset);
}

std::optional<Contents> evaluate(const Concat& p, Inputs in, const TensorType& type) {
  const Dims dims = type.dims();
  int64_t outer = 1;
  for (size_t i = 0; i < static_cast<size_t>(p.axis); ++i) outer *= dims[i];
  Contents result;
  for (int64_t o = 0; o < outer; ++o) {
    for (const KnownTensor& t : in) {
      const auto run = static_cast<int64_t>(t.contents->size()) / outer;
      result.insert(result.end(), t.contents->begin() + o * run, t.contents->begin() + (o + 1) * run);
    }
  }
  return result;
}

std::optional<Contents> evaluate(const Gather& p, Inputs in, const TensorType&) {
  const Dims dims = in[0].type->dims();
  const auto axis = static_cast<size_t>(p.axis);
  const int64_t inner = row_major_strides(dims)[axis], size = dims[axis];
  Contents result;
  for (int64_t outer = 0; outer * size * inner < std::ssize(*in[0].contents); ++outer) {
    for (const Dim& d : *in[1].contents) {
      if (!d.is_constant() || d.value() < -size || d.value() >= size) return std::nullopt;
      const auto from = in[0].contents->begin() + (outer * size + (d.value() + size) % size) * inner;
      result.insert(result.end(), from, from + inner);
    }
  }
  return result;
}

std::optional<Contents> evaluate(const LinearIndex& p, Inputs in, const TensorType& type) {
  const Dims dims = p.dims.dims();
  Contents result;
  for (int64_t k = 0; k < element_count(type.dims()); ++k) {
    int64_t position = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      const Dim& d = in[0].contents->at(static_cast<size_t>(k) * dims.size() + i);
      if (!d.is_constant() || d.value() < -dims[i] || d.value() >= dims[i]) return std::nullopt;
      position = position * dims[i] + (d.value() + dims[i]) % dims[i];
    }
    result.push_back(position);
  }
  return result;
}

std::optional<Contents> evaluate(const Scatter& p, Inputs in, const TensorType& type) {
  if (p.kind != ScatterReduction::set && p.kind != ScatterReduction::add) return std::nullopt;
  const Dims dims = type.dims();
  const auto axis = static_cast<size_t>(p.axis);
  const int64_t inner = row_major_strides(dims)[axis], size = dims[axis], slice = size * inner;
  Contents result = p.onto_zeros ? Contents(static_cast<size_t>(element_count(dims)), Dim(0)) : *in[0].contents;
  auto update = in.back().contents->begin();
  for (int64_t at = 0; at < std::ssize(result); at += slice) {
    for (const Dim& d : *in[in.size() - 2].contents) {
      if (!d.is_constant() || d.value() < -size || d.value() >= size) return std::nullopt;
      for (int64_t j = 0; j < inner; ++j, ++update) {
        Dim& to = result[static_cast<size_t>(at + (d.value() + size) % size * inner + j)];
        to = p.kind == ScatterReduction::set ? *update : to + *update;
      }
    }
  }
  return result;
}

std::optional<Contents> evaluate(const CumSum& p, Inputs in, const TensorType& type) {
  const Dims dims = type.dims();
  const auto axis = static_cast<size_t>(p.axis);
  const int64_t inner = row_major_strides(dims)[axis], size = dims[axis];
  Contents result = *in[0].contents;
  for (int64_t column = 0; column < std::ssize(result) / std::max<int64_t>(size, 1); ++column) {
    Dim sum(0);
    for (int64_t i = 0; i < size; ++i) {
      const int64_t row = p.reverse ? size - 1 - i : i;
      Dim& element = result[static_cast<size_t>(column / inner * size * inner + row * inner + column % inner)];
      const Dim next = sum + element;
      element = p.exclusive ? sum : next;
      sum = next;
    }
  }
  return result;
}

std::optional<Dim> combined(Reduction kind, const Dim& a, const Dim& b) {
  switch (kind) {
    case Reduction::sum:
      return a + b;
    case Reduction::prod:
      return a * b;
    case Reduction::max:
      return greater(a, b);
    case Reduction::min:
      return lesser(a, b);
    case Reduction::mean:
      break;
  }
  return std::nullopt;
}

std::optional<Contents> evaluate(const Reduce& p, Inputs in, const TensorType& type) {
  if (p.kind == Reduction::mean) return std::nullopt;
  // Every element adds itself to the output at the index that leaves out the reduced axes.
  const Dims dims = in[0].type->dims();
  Dims kept = dims;
  for (const int axis : p.axes) kept[static_cast<size_t>(axis)] = 1;
  const Dims strides = broadcast_strides(kept, kept.size());
  std::vector<std::optional<Dim>> sums(static_cast<size_t>(element_count(type.dims())));
  for (int64_t k = 0; k < std::ssize(*in[0].contents); ++k) {
    int64_t position = 0, rest = k;
    for (size_t i = dims.size(); i-- > 0; rest /= dims[i]) position += rest % dims[i] * strides[i];
    std::optional<Dim>& sum = sums[static_cast<size_t>(position)];
    const Dim& e = (*in[0].contents)[static_cast<size_t>(k)];
    sum = sum ? combined(p.kind, *sum, e) : e;
    if (!sum) return std::nullopt;
  }
  Contents result;
  for (const auto& sum : sums) {
    if (!sum && p.kind != Reduction::sum && p.kind != Reduction::prod) return std::nullopt;
    result.push_back(sum ? *sum : Dim(p.kind == Reduction::prod ? 1 : 0));
  }
  return result;
}

std::optional<Contents> evaluate(const Map& p, Inputs in, const TensorType& type) {
  const Dims dims = type.dims();
  std::vector<Contents> operands;
  for (const KnownTensor& t : in) {
    operands.push_back(strided(*t.contents, dims, broadcast_strides(t.type->dims(), dims.size())));
  }
  const SymbolicExpression expression(p.expression);
  Contents result;
  std::vector<Dim> arguments(in.size());
  for (int64_t k = 0; k < element_count(dims); ++k) {
    for (size_t i = 0; i < in.size(); ++i) arguments[i] = operands[i][static_cast<size_t>(k)];
    const auto value = expression.evaluate(arguments);
    if (!value) return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

template <class P>
concept Evaluated = requires(const P& p, Inputs in, const TensorType& type) {
  evaluate(p, in, type);
};

// A type that wraps around or rounds would make the expression wrong.
bool all_fit(const Contents& contents, DataType type) {
  return std::all_of(contents.begin(), contents.end(), [&](const Dim& d) { return fits(d, type); });
}

}  // namespace

std::optional<Contents> evaluate_contents(const Primitive& primitive, Inputs inputs, const TensorType& output) {
  const auto known = [](const KnownTensor& t) { return t.contents != nullptr && t.type->shape.is_static(); };
  if (!std::all_of(inputs.begin(), inputs.end(), known)) return std::nullopt;
  if (!output.shape.is_static()) return std::nullopt;
  const int64_t count = element_count(output.dims());
  if (count > kMaxContents) return std::nullopt;
  try {
    return std::visit(
        [&](const auto& p) -> std::optional<Contents> {
          if constexpr (Evaluated<std::decay_t<decltype(p)>>) {
            std::optional<Contents> result = evaluate(p, inputs, output);
            const bool complete = result && std::ssize(*result) == count;
            if (complete && all_fit(*result, output.dtype)) return result;
          }
          return std::nullopt;
        },
        primitive);
  } catch (const Error&) {
    return std::nullopt;  // an overflow or a division by zero: such a tensor is no shape
  }
}

}  // namespace arbalest
