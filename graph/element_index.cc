#include "graph/element_index.h"

#include <numeric>

#include "graph/primitives/checks.h"

namespace arbalest {

namespace {

// Longer ones are computed while running: a few bytes of a file cannot ask for all memory at import.
constexpr int64_t kListed = 1 << 16;

Value flat(const Value& v) { return reshape(v, {v.shape().element_count()}); }

// How many elements of a row-major tensor lie between neighbours along each axis.
std::vector<Dim> strides_of(const Shape& shape) {
  std::vector<Dim> strides(shape.size(), Dim(1));
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Value times(const Value& v, const Dim& factor) {
  if (factor == Dim(1)) return v;
  return v * v.builder().integers({factor}, {});
}

// Indices along an axis of a size, counted from its beginning.
Value checked(const Value& indices, const Dim& size) {
  Shape coordinates = indices.shape();
  coordinates.emplace_back(1);
  return indices.builder().emit_one(LinearIndex{{size}}, {reshape(indices, coordinates)});
}

}  // namespace

Value iota(Builder& builder, const Dim& count) {
  if (count.is_constant() && count.value() <= kListed) {
    HostTensor numbers(DataType::i64, {count.value()});
    std::iota(numbers.as<int64_t>().begin(), numbers.as<int64_t>().end(), 0);
    return builder.constant(std::make_shared<const HostTensor>(std::move(numbers)));
  }
  const Value ones = expand(builder.scalar(1, DataType::i64), {count});
  return builder.emit_one(CumSum{0, /*exclusive=*/true, /*reverse=*/false}, {ones});
}

Value position_numbers(Builder& builder, const Dim& count, int axis, int rank) {
  Shape shape(static_cast<size_t>(rank), Dim(1));
  shape[static_cast<size_t>(axis)] = count;
  return reshape(iota(builder, count), shape);
}

Value element_positions(const Value& indices, const Shape& data, int axis) {
  const Shape shape = indices.shape();
  require(indices.rank() == data.rank(), "indices of rank {} ({}) of a rank-{} tensor ({})", indices.rank(),
          to_string(shape), data.rank(), to_string(data));
  expect_axis(axis, data.rank());
  const std::vector<Dim> strides = strides_of(data);
  const auto a = static_cast<size_t>(axis);
  Value sum = times(checked(indices, data[a]), strides[a]);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == a) continue;
    const Dim rest = data[i] - shape[i];
    require(!rest.is_constant() || rest.value() >= 0, "indices of shape {} of a tensor of shape {}: axis {} is longer",
            to_string(shape), to_string(data), i);
    if (shape[i] == Dim(1)) continue;
    Value coordinate = iota(indices.builder(), shape[i]);
    // Sizes that only a binding tells are compared while running.
    if (!rest.is_constant()) coordinate = checked(coordinate, data[i]);
    Shape along(shape.size(), Dim(1));
    along[i] = shape[i];
    sum = sum + reshape(times(coordinate, strides[i]), along);
  }
  return sum;
}

Value gather_elements(const Value& data, const Value& indices, int axis) {
  return gather(flat(data), element_positions(indices, data.shape(), axis), 0);
}

Value scatter_elements(ScatterReduction kind, const Value& data, int axis, const Value& indices, const Value& updates) {
  const Value positions = element_positions(indices, data.shape(), axis);
  const Value y = data.builder().emit_one(Scatter{0, kind, false, Dim(0)}, {flat(data), positions, updates});
  return reshape(y, data.shape());
}

Value scatter_elements(ScatterReduction kind, const Shape& shape, int axis, const Value& indices,
                       const Value& updates) {
  const Value positions = element_positions(indices, shape, axis);
  return reshape(updates.builder().emit_one(Scatter{0, kind, true, shape.element_count()}, {positions, updates}),
                 shape);
}

}  // namespace arbalest
