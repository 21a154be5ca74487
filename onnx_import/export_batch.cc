#include "onnx_import/export_batch.h"

#include <algorithm>

#include "graph/base/error.h"

namespace arbalest {
namespace {

constexpr int64_t kInferred = -1;

bool is_known(const Dim& d) { return d.is_constant() && d.value() > 0; }

// The batch that makes the shapes have equally many elements; the file's, if it fixes one.
std::optional<int64_t> export_size(const Dim& count, const Shape& target, const ExportBatch& batch) {
  if (batch.size) return batch.size;
  const Dim of_one = count.bind({{batch.symbol, 1}});
  const Dim total = target.element_count();
  if (!is_known(of_one) || !is_known(total) || total.value() % of_one.value() != 0) return std::nullopt;
  return total.value() / of_one.value();
}

// Elements of the input before one index of the batch: the sizes in front of its axis.
std::optional<int64_t> elements_before_batch(const Shape& input, const ExportBatch& batch) {
  int64_t before = 1;
  for (const Dim& d : input) {
    if (depends_on_batch(d, batch)) return before;
    if (!is_known(d)) return std::nullopt;
    before *= d.value();
  }
  return std::nullopt;
}

// The axis of the target that holds the batch: one of just that size at its place, else one whose end is where the
// batch ends, else the first that can be divided by it.
std::optional<size_t> batch_axis(const Shape& target, int64_t before, int64_t size) {
  std::optional<size_t> merged, divisible;
  int64_t prefix = 1;
  for (size_t i = 0; i < target.size() && is_known(target[i]); ++i) {
    const int64_t d = target[i].value();
    if (d == size && prefix == before) return i;
    if (!merged && d % size == 0 && prefix * d == before * size) merged = i;
    if (!divisible && d % size == 0 && prefix * d >= before * size) divisible = i;
    prefix *= d;
  }
  return merged ? merged : divisible;
}

// The only entry of -1, if there is one.
std::optional<size_t> inferred_axis(const Shape& target) {
  const auto at = std::find(target.begin(), target.end(), Dim(kInferred));
  if (at == target.end()) return std::nullopt;
  return static_cast<size_t>(at - target.begin());
}

Dim known_count(const Shape& target) {
  Dim count(1);
  for (const Dim& d : target) count = d == Dim(kInferred) ? count : count * d;
  return count;
}

// The first entry along an axis, if all others equal it.
TensorPtr one_entry(const HostTensor& tensor, size_t axis) {
  const auto part = static_cast<size_t>(row_major_strides(tensor.dims)[axis]) * size_of(tensor.dtype);
  const auto count = static_cast<size_t>(tensor.dims[axis]);
  if (part == 0 || count == 0) return nullptr;
  Dims dims = tensor.dims;
  dims[axis] = 1;
  HostTensor one(tensor.dtype, dims);
  for (size_t from = 0, to = 0; from < tensor.bytes.size(); from += count * part, to += part) {
    const auto first = tensor.bytes.begin() + static_cast<int64_t>(from);
    for (size_t k = 1; k < count; ++k) {
      if (!std::equal(first, first + static_cast<int64_t>(part), first + static_cast<int64_t>(k * part)))
        return nullptr;
    }
    std::copy(first, first + static_cast<int64_t>(part), one.bytes.begin() + static_cast<int64_t>(to));
  }
  return std::make_shared<const HostTensor>(std::move(one));
}

// The value with size 1 at an axis along which it does not change: expanded there, or a constant, or a part of either.
std::optional<Value> one_entry(const Value& value, size_t axis) {
  if (value.shape()[axis] == Dim(1)) return value;
  Builder& builder = value.builder();
  const Node* producer = builder.graph().producer(value.id());
  if (!producer) return std::nullopt;
  if (const auto* constant = std::get_if<Constant>(&producer->primitive)) {
    const TensorPtr one = one_entry(*constant->value, axis);
    return one ? std::optional(builder.constant(one)) : std::nullopt;
  }
  const auto* slice = std::get_if<Slice>(&producer->primitive);
  const bool expands = std::holds_alternative<Expand>(producer->primitive);
  if (!slice && !expands) return std::nullopt;
  const Value from = builder.value(producer->inputs[0]);
  if (expands) return from.rank() == value.rank() ? one_entry(from, axis) : std::nullopt;
  if (!(slice->size[axis] == from.shape()[axis])) return std::nullopt;
  const std::optional<Value> one = one_entry(from, axis);
  if (!one) return std::nullopt;
  Slice part = *slice;
  part.start[axis] = 0;
  part.size[axis] = 1;
  part.step[axis] = 1;
  return builder.emit_one(std::move(part), {*one});
}

}  // namespace

bool depends_on_batch(const Dim& d, const ExportBatch& batch) {
  if (batch.symbol.empty()) return false;
  std::vector<std::string> symbols;
  d.add_symbols(symbols);
  return std::find(symbols.begin(), symbols.end(), batch.symbol) != symbols.end();
}

bool depends_on_batch(const Shape& shape, const ExportBatch& batch) {
  return std::any_of(shape.begin(), shape.end(), [&](const Dim& d) { return depends_on_batch(d, batch); });
}

std::optional<Shape> generalise_reshape(const Shape& input, const Shape& target, const ExportBatch& batch) {
  if (!depends_on_batch(input, batch) || depends_on_batch(target, batch)) return std::nullopt;
  const Dim count = input.element_count();
  const std::optional<size_t> inferred = inferred_axis(target);
  if (inferred && !batch.size) return std::nullopt;  // the batch goes into the inferred axis
  if (inferred && *inferred == 0 && known_count(target) * floor_div(count, known_count(target)) == count)
    return std::nullopt;
  const std::optional<int64_t> size = export_size(count, target, batch);
  const std::optional<int64_t> before = elements_before_batch(input, batch);
  if (!size || !before) return std::nullopt;
  const std::optional<size_t> axis = batch_axis(target, *before, *size);
  if (!axis || axis == inferred) return std::nullopt;
  Shape general = target;
  general[*axis] = floor_div(general[*axis], *size) * Dim::symbol(batch.symbol);
  const Dim known = known_count(general);
  const bool fits = inferred ? known * floor_div(count, known) == count : known == count;
  return fits ? std::optional(general) : std::nullopt;
}

std::optional<Shape> generalise_expand(const Shape& input, const Shape& target, const ExportBatch& batch) {
  if (batch.symbol.empty() || target.empty()) return std::nullopt;
  const Dim symbol = Dim::symbol(batch.symbol);
  Shape general = target;
  if (input.size() == target.size() && input[0] == symbol && is_known(target[0]) && !(target[0] == Dim(1))) {
    general[0] = symbol;
  } else if (batch.size && *batch.size > 1 && target[0] == Dim(*batch.size) && !depends_on_batch(input, batch)) {
    if (input.size() == target.size() && !(input[0] == Dim(1))) return std::nullopt;
    general[0] = symbol;
  }
  return general == target ? std::nullopt : std::optional(general);
}

std::optional<Value> generalise_axis(const Value& value, int axis, const Dim& wanted, const ExportBatch& batch) {
  const auto i = static_cast<size_t>(axis);
  if (batch.symbol.empty() || i >= value.shape().size()) return std::nullopt;
  if (batch.size && !(value.shape()[i] == Dim(*batch.size))) return std::nullopt;
  const std::optional<Value> one = one_entry(value, i);
  if (!one) return std::nullopt;
  Shape shape = value.shape();
  shape[i] = wanted;
  return expand(*one, shape);
}

Value at_batch(const Value& value, int axis, const Dim& wanted, const ExportBatch& batch) {
  const auto i = static_cast<size_t>(axis);
  if (i >= value.shape().size() || value.shape()[i] == wanted) return value;
  return generalise_axis(value, axis, wanted, batch).value_or(value);
}

}  // namespace arbalest
