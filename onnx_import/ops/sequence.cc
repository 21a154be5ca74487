// Sequences and optionals. A sequence is a list of values at import: its length, and every position in it, must be
// known.
#include <algorithm>

#include "graph/base/error.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

Values sequence(OpContext& op, int i) {
  const Item item = op.item(i);
  require(static_cast<bool>(item.sequence), "input {} is no sequence", i);
  return *item.sequence;
}

// One of `count` positions, counted from the end where it is negative; the last one where the input is missing.
int64_t position(OpContext& op, int i, int64_t count) {
  if (!op.has_input(i)) return count - 1;
  const std::vector<int64_t> given = op.constant_integers(i);
  require(given.size() == 1, "input {} has {} elements, expected one position", i, given.size());
  require(-count <= given[0] && given[0] < count, "position {} of a sequence with {} places", given[0], count);
  return given[0] < 0 ? given[0] + count : given[0];
}

Values give_sequence(OpContext& op, Values values) {
  op.give(0, Item::of_sequence(std::move(values)));
  return {};
}

// SequenceConstruct-11
Values sequence_construct(OpContext& op) {
  Values values;
  for (int i = 0; i < op.input_count(); ++i) values.push_back(op.input(i));
  return give_sequence(op, std::move(values));
}

// SequenceEmpty-11
Values sequence_empty(OpContext& op) {
  op.ignore_attribute("dtype");
  return give_sequence(op, {});
}

// SequenceAt-11
Values sequence_at(OpContext& op) {
  const Values values = sequence(op, 0);
  return {values[static_cast<size_t>(position(op, 1, std::ssize(values)))]};
}

// SequenceInsert-11: in front of the position; by default at the end
Values sequence_insert(OpContext& op) {
  Values values = sequence(op, 0);
  const int64_t at = position(op, 2, std::ssize(values) + 1);
  values.insert(values.begin() + at, op.input(1));
  return give_sequence(op, std::move(values));
}

// SequenceErase-11: by default the last one
Values sequence_erase(OpContext& op) {
  Values values = sequence(op, 0);
  values.erase(values.begin() + position(op, 1, std::ssize(values)));
  return give_sequence(op, std::move(values));
}

// SequenceLength-11
Values sequence_length(OpContext& op) { return {op.builder().integers({Dim(std::ssize(sequence(op, 0)))}, {})}; }

// Sizes of the parts that SplitToSequence makes: as given, all of one given size but for the last, or 1 each.
std::vector<Dim> part_sizes(OpContext& op, const Dim& size) {
  constexpr int64_t kMaxParts = 100'000;
  if (op.has_input(1) && op.input(1).rank() == 1) return op.contents(1);
  const int64_t part = op.has_input(1) ? op.constant_integer(1) : 1;
  require(part > 0, "parts of size {}", part);
  if (!size.is_constant()) {
    throw Error(ErrorKind::unsupported, "the axis has the open size '{}'; give it a value (--dim {}=SIZE)",
                to_string(size), to_string(size));
  }
  const int64_t count = ceil_div(size, part).value();
  require(count <= kMaxParts, "{} parts, at most {} can be listed", count, kMaxParts);
  std::vector<Dim> sizes(static_cast<size_t>(count), Dim(part));
  if (count > 0) sizes.back() = size - part * (count - 1);
  return sizes;
}

// SplitToSequence-11, 24
Values split_to_sequence(OpContext& op) {
  const Value x = op.input(0);
  const int axis = normalise_axis(op.attribute("axis", 0), x.rank());
  const bool drops_axis = op.attribute("keepdims", 1) == 0 && !op.has_input(1);
  const Dim& size = x.shape()[static_cast<size_t>(axis)];
  Shape without = x.shape();
  without.erase(without.begin() + axis);
  Values parts;
  Dim start = 0;
  for (const Dim& part : part_sizes(op, size)) {
    const Value piece = slice(x, axis, start, part);
    parts.push_back(drops_axis ? reshape(piece, without) : piece);
    start = start + part;
  }
  require(start == size, "parts of {} together, but the axis has size {}", to_string(start), to_string(size));
  return give_sequence(op, std::move(parts));
}

// ConcatFromSequence-11: along an axis, or along a new one
Values concat_from_sequence(OpContext& op) {
  Values values = sequence(op, 0);
  require(!values.empty(), "the sequence is empty");
  const bool is_new = op.attribute("new_axis", 0) != 0;
  const int axis = normalise_axis(op.required_integer("axis"), values[0].rank() + (is_new ? 1 : 0));
  for (Value& v : values) {
    if (!is_new) continue;
    Shape shape = v.shape();
    require(axis <= shape.rank(), "axis {} of {}", axis, to_string(shape));
    shape.insert(shape.begin() + axis, Dim(1));
    v = reshape(v, shape);
  }
  return {concat(values, axis)};
}

// SequenceMap-17: the body for each entry of the sequences; tensors are the same each time
Values sequence_map(OpContext& op) {
  const int64_t count = std::ssize(sequence(op, 0));
  std::vector<Values> outputs(static_cast<size_t>(op.output_count()));
  for (int64_t k = 0; k < count; ++k) {
    std::vector<Item> inputs;
    for (int i = 0; i < op.input_count(); ++i) {
      const Item item = op.item(i);
      require(!item.sequence || std::ssize(*item.sequence) == count, "input {} has {} entries, the first {}", i,
              item.sequence ? item.sequence->size() : 0, count);
      inputs.push_back(item.sequence ? Item((*item.sequence)[static_cast<size_t>(k)]) : item);
    }
    const std::vector<Item> results = op.subgraph("body", inputs, {{}, k});
    for (size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
      require(static_cast<bool>(results[i].tensor), "output {} of the body is no tensor", i);
      outputs[i].push_back(results[i].tensor);
    }
  }
  op.ignore_attribute("body");
  for (size_t i = 0; i < outputs.size(); ++i) op.give(static_cast<int>(i), Item::of_sequence(std::move(outputs[i])));
  return {};
}

// Optional-15
Values optional(OpContext& op) {
  op.ignore_attribute("type");
  op.give(0, op.has_input(0) ? op.item(0) : Item::of_nothing());
  return {};
}

// OptionalHasElement-15, 18: a bool
Values optional_has_element(OpContext& op) {
  const bool has = op.has_input(0) && !op.item(0).absent;
  const HostTensor result = HostTensor::i64({}, std::vector<int64_t>{has ? 1 : 0}).to(DataType::boolean);
  return {op.builder().constant(std::make_shared<const HostTensor>(result))};
}

// OptionalGetElement-15, 18
Values optional_get_element(OpContext& op) {
  const Item item = op.item(0);
  require(!item.absent, "the optional has no value");
  op.give(0, item);
  return {};
}

}  // namespace

void register_sequence(Translator& t);
void register_sequence(Translator& t) {
  t.add("SequenceConstruct", {11}, sequence_construct);
  t.add("SequenceEmpty", {11}, sequence_empty);
  t.add("SequenceAt", {11}, sequence_at);
  t.add("SequenceInsert", {11}, sequence_insert);
  t.add("SequenceErase", {11}, sequence_erase);
  t.add("SequenceLength", {11}, sequence_length);
  t.add("SequenceMap", {17}, sequence_map);
  t.add("SplitToSequence", {11, 24}, split_to_sequence);
  t.add("ConcatFromSequence", {11}, concat_from_sequence);
  t.add("Optional", {15}, optional);
  t.add("OptionalHasElement", {15, 18}, optional_has_element);
  t.add("OptionalGetElement", {15, 18}, optional_get_element);
}

}  // namespace arbalest
