// Shapes and their arithmetic, constants, and operators that give a tensor another shape.
#include <algorithm>
#include <numeric>

#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/export_batch.h"

namespace arbalest {
namespace {

constexpr int64_t kMaxShapeElements = 64;  // elements of a shape

// Constant-1, 9, 11, 12, 13, 19, ..., 25
Values constant(OpContext& op) { return {op.builder().constant(op.constant_value())}; }

// ConstantOfShape-9, 20, ..., 25: one element of any type, by default the float 0
Values constant_of_shape(OpContext& op) {
  Shape shape;
  for (const Dim& d : op.contents(0)) shape.push_back(d);
  for (const Dim& d : shape) require(!d.is_constant() || d.value() >= 0, "the shape is {}", to_string(shape));
  TensorPtr value = op.tensor_attribute("value");
  if (!value) value = std::make_shared<HostTensor>(DataType::f32, Dims{1});
  require(value->element_count() == 1, "attribute 'value' has {} elements, expected one", value->element_count());
  const bool is_index = is_integer(value->dtype) && shape.size() <= 1;  // part of shape arithmetic
  if (const auto general = is_index ? std::nullopt : generalise_expand({}, shape, op.export_batch())) {
    op.notice(fmt::format("shape {} generalised to {}", to_string(shape), to_string(*general)));
    shape = *general;
  }
  const Value one = reshape(op.builder().constant(value), {});
  const bool is_shape = is_integer(value->dtype) && shape.is_static() && shape.size() <= 1 &&
                        shape.element_count().value() <= kMaxShapeElements;
  if (!is_shape) return {expand(one, shape)};
  const int64_t element = value->to(DataType::i64).as<int64_t>()[0];
  return {op.builder().integers(std::vector<Dim>(static_cast<size_t>(shape.element_count().value()), Dim(element)),
                                shape, value->dtype)};
}

// Shape-1, 13; -15, 19, ..., 25: of the axes from start to end, clamped
Values shape(OpContext& op) {
  const Shape all = op.input(0).shape();
  const auto clamped = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + all.rank() : i, 0, all.rank()); };
  int64_t start = 0, end = all.rank();
  if (op.version() >= 15) {
    start = clamped(op.attribute("start", start));
    end = clamped(op.attribute("end", end));
  }
  std::vector<Dim> part;
  if (start < end) part.assign(all.begin() + start, all.begin() + end);
  const auto count = static_cast<int64_t>(part.size());
  return {op.builder().integers(part, {Dim(count)})};
}

// Size-1, 13, 19, ..., 25
Values size(OpContext& op) { return {op.builder().integers({op.input(0).shape().element_count()}, {})}; }

// ---- Reshape

Shape with_zeros_copied(const Shape& input, std::vector<Dim> target) {
  for (size_t i = 0; i < target.size(); ++i) {
    if (!(target[i] == Dim(0))) continue;
    require(i < input.size(), "entry {} of the shape is 0, but the input has only {} axes", i, input.size());
    target[i] = input[i];
  }
  Shape shape;
  shape.assign(target.begin(), target.end());
  return shape;
}

Shape with_axis_inferred(const Shape& input, Shape target) {
  const Dim inferred(-1);
  const auto at = std::find(target.begin(), target.end(), inferred);
  if (at == target.end()) return target;
  require(std::count(target.begin(), target.end(), inferred) == 1, "the shape has two entries of -1");
  Dim known(1);
  for (const Dim& d : target) known = d == inferred ? known : known * d;
  require(!(known == Dim(0)), "an entry of -1 beside an entry of 0");
  const Dim count = input.element_count();
  *at = floor_div(count, known);
  const Dim total = *at * known;
  require(total == count || !(total - count).is_constant(), "{} ({} elements) cannot be divided into {}",
          to_string(input), to_string(count), to_string(known));
  return target;
}

// Reshape-1: the shape is an attribute; -5, 13, 14, 19, ..., 25: an input
Values reshape_node(OpContext& op) {
  const Value x = op.input(0);
  std::vector<Dim> entries;
  if (op.version() < 5) {
    op.ignore_attribute("consumed_inputs");
    for (const int64_t d : op.required_integers("shape")) entries.emplace_back(d);
  } else {
    entries = op.contents(1);
  }
  const bool zeros_stay = op.version() >= 14 && op.attribute("allowzero", 0) != 0;
  Shape target;
  target.assign(entries.begin(), entries.end());
  if (!zeros_stay) target = with_zeros_copied(x.shape(), entries);
  if (const auto general = generalise_reshape(x.shape(), target, op.export_batch())) {
    op.notice(fmt::format("shape {} generalised to {}", to_string(target), to_string(*general)));
    target = *general;
  }
  return {reshape(x, with_axis_inferred(x.shape(), target))};
}

// Flatten-1, 9, 11, 13, 21, ..., 25
Values flatten(OpContext& op) {
  const Value x = op.input(0);
  const int64_t given = op.attribute("axis", 1);
  require(-x.rank() <= given && given <= x.rank(), "attribute 'axis' is {} for an input of rank {}", given, x.rank());
  const auto axis = static_cast<size_t>(given < 0 ? given + x.rank() : given);
  Shape shape{Dim(1), Dim(1)};
  for (size_t i = 0; i < x.shape().size(); ++i) shape[i < axis ? 0 : 1] = shape[i < axis ? 0 : 1] * x.shape()[i];
  return {reshape(x, shape)};
}

// Squeeze-1, 11: axes are an attribute; -13, 21, ..., 25: an input. Without axes, all of size 1.
Values squeeze(OpContext& op) {
  const Value x = op.input(0);
  const auto axes = op.integers_attribute_or_input("axes", 1, 13);
  std::vector<bool> dropped(x.shape().size(), false);
  for (const int64_t a : axes.value_or(std::vector<int64_t>{})) {
    const auto i = static_cast<size_t>(normalise_axis(a, x.rank()));
    require(!x.shape()[i].is_constant() || x.shape()[i] == Dim(1), "axis {} of {} has not size 1", i,
            to_string(x.shape()));
    dropped[i] = true;
  }
  Shape shape;
  for (size_t i = 0; i < dropped.size(); ++i) {
    const bool drop = axes ? dropped[i] : x.shape()[i] == Dim(1);
    if (!drop) shape.push_back(x.shape()[i]);
  }
  return {reshape(x, shape)};
}

// Unsqueeze-1, 11: axes are an attribute; -13, 21, ..., 25: an input. Axes count in the output.
Values unsqueeze(OpContext& op) {
  const Value x = op.input(0);
  const auto axes = op.integers_attribute_or_input("axes", 1, 13);
  require(axes.has_value(), "the axes are missing");
  const int rank = x.rank() + static_cast<int>(axes->size());
  std::vector<bool> is_new(static_cast<size_t>(rank), false);
  for (const int64_t a : *axes) {
    const auto i = static_cast<size_t>(normalise_axis(a, rank));
    require(!is_new[i], "axis {} is named twice", i);
    is_new[i] = true;
  }
  Shape shape;
  size_t next = 0;
  for (const bool fresh : is_new) shape.push_back(fresh ? Dim(1) : x.shape()[next++]);
  return {reshape(x, shape)};
}

// Transpose-1, 13, 21, ..., 25: by default the axes in reverse
Values transpose_node(OpContext& op) {
  const Value x = op.input(0);
  std::vector<int64_t> reversed(x.shape().size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  std::vector<int> permutation;
  for (const int64_t a : op.attribute("perm", reversed)) permutation.push_back(normalise_axis(a, x.rank()));
  return {transpose(x, permutation)};
}

// Expand-8, 13: both ways, so an entry of 1 keeps the input's size
Values expand_node(OpContext& op) {
  Value x = op.input(0);
  Shape target;
  for (const Dim& d : op.contents(1)) target.push_back(d);
  const bool is_index = is_integer(x.dtype()) && target.size() <= 1;  // part of shape arithmetic
  if (const auto general = is_index ? std::nullopt : generalise_expand(x.shape(), target, op.export_batch())) {
    op.notice(fmt::format("shape {} generalised to {}", to_string(target), to_string(*general)));
    target = *general;
  }
  for (int i = 1; i <= std::min(x.rank(), target.rank()); ++i) {  // from the last axis
    const Dim& wanted = target[target.size() - static_cast<size_t>(i)];
    if (depends_on_batch(wanted, op.export_batch())) x = at_batch(x, x.rank() - i, wanted, op.export_batch());
  }
  return {expand(x, broadcast(x.shape(), target))};
}

// Tile-6, 13: with an axis of size 1 in front of each, which is expanded
Values tile(OpContext& op) {
  const Value x = op.input(0);
  const std::vector<Dim> repeats = op.contents(1);
  require(repeats.size() == x.shape().size(), "{} repeats for an input of rank {}", repeats.size(), x.rank());
  Shape split, expanded, tiled;
  for (size_t i = 0; i < repeats.size(); ++i) {
    require(!repeats[i].is_constant() || repeats[i].value() >= 0, "repeat {} of axis {}", to_string(repeats[i]), i);
    const Dim& size = x.shape()[i];
    if (!(repeats[i] == Dim(1))) split.emplace_back(1), expanded.push_back(repeats[i]);
    split.push_back(size), expanded.push_back(size);
    tiled.push_back(repeats[i] * size);
  }
  return {reshape(expand(reshape(x, split), expanded), tiled)};
}

// Concat-1 (axis 1 by default), 4, 11, 13
Values concat_node(OpContext& op) {
  Values inputs;
  for (int i = 0; i < op.input_count(); ++i) inputs.push_back(op.input(i));
  require(!inputs.empty(), "no input");
  const int axis =
      normalise_axis(op.version() >= 4 ? op.required_integer("axis") : op.attribute("axis", 1), inputs[0].rank());
  // An input that still has the export batch where the others have the free one.
  for (Value& v : inputs) {
    for (int i = 0; i < v.rank() && i < inputs[0].rank(); ++i) {
      const auto k = static_cast<size_t>(i);
      const auto is_free = [&](const Value& other) {
        return other.rank() > i && depends_on_batch(other.shape()[k], op.export_batch());
      };
      const auto free = std::find_if(inputs.begin(), inputs.end(), is_free);
      if (i == axis || free == inputs.end() || depends_on_batch(v.shape()[k], op.export_batch())) continue;
      const auto general = generalise_axis(v, i, free->shape()[k], op.export_batch());
      require(general.has_value(), "an input of shape {} beside one of shape {}: they differ along axis {}",
              to_string(v.shape()), to_string(free->shape()), i);
      op.notice(fmt::format("shape {} generalised to {}", to_string(v.shape()), to_string(general->shape())));
      v = *general;
    }
  }
  return {concat(inputs, axis)};
}

// DepthToSpace-1, 11, 13, 28; SpaceToDepth-1, 13, 28: blocks of b x b positions against b * b channels
struct Blocks {
  Value x;
  Dim block;
  bool depth_first;  // DCR; else the channels come first (CRD)
};
Blocks blocks_of(OpContext& op) {
  const Value x = op.input(0);
  require(x.rank() == 4, "the input has rank {} ({}), expected 4", x.rank(), to_string(x.shape()));
  const int64_t block = op.required_integer("blocksize");
  require(block >= 1, "attribute 'blocksize' is {}, expected at least 1", block);
  const std::string mode = op.attribute("mode", "DCR");
  require(mode == "DCR" || mode == "CRD", "attribute 'mode' is '{}', expected 'DCR' or 'CRD'", mode);
  return {x, Dim(block), mode == "DCR"};
}
Values depth_to_space(OpContext& op) {
  const auto [x, b, depth_first] = blocks_of(op);
  const Shape& s = x.shape();
  const Dim channels = floor_div(s[1], b * b);
  require(!s[1].is_constant() || channels * b * b == s[1], "{} channels cannot be divided by {}", to_string(s[1]),
          to_string(b * b));
  const Value split =
      depth_first ? reshape(x, {s[0], b, b, channels, s[2], s[3]}) : reshape(x, {s[0], channels, b, b, s[2], s[3]});
  const Value moved = depth_first ? transpose(split, {0, 3, 4, 1, 5, 2}) : transpose(split, {0, 1, 4, 2, 5, 3});
  return {reshape(moved, {s[0], channels, s[2] * b, s[3] * b})};
}
Values space_to_depth(OpContext& op) {
  const auto [x, b, depth_first] = blocks_of(op);
  const Shape& s = x.shape();
  for (const size_t i : {2u, 3u}) {
    require(!s[i].is_constant() || s[i].value() % b.value() == 0, "axis {} of {} cannot be divided by {}", i,
            to_string(s), to_string(b));
  }
  const Dim rows = floor_div(s[2], b), columns = floor_div(s[3], b);
  const Value split = reshape(x, {s[0], s[1], rows, b, columns, b});
  const Value moved = depth_first ? transpose(split, {0, 3, 5, 1, 2, 4}) : transpose(split, {0, 1, 3, 5, 2, 4});
  return {reshape(moved, {s[0], s[1] * b * b, rows, columns})};
}

}  // namespace

void register_shape(Translator& t);
void register_shape(Translator& t) {
  t.add("Constant", {1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, constant);
  t.add("ConstantOfShape", {9, 20, 21, 23, 24, 25}, constant_of_shape);
  t.add("Shape", {1, 13, 15, 19, 21, 23, 24, 25}, shape);
  t.add("Size", {1, 13, 19, 21, 23, 24, 25}, size);
  t.add("Reshape", {1, 5, 13, 14, 19, 21, 23, 24, 25}, reshape_node);
  t.add("Flatten", {1, 9, 11, 13, 21, 23, 24, 25}, flatten);
  t.add("Squeeze", {1, 11, 13, 21, 23, 24, 25}, squeeze);
  t.add("Unsqueeze", {1, 11, 13, 21, 23, 24, 25}, unsqueeze);
  t.add("Transpose", {1, 13, 21, 23, 24, 25}, transpose_node);
  t.add("Expand", {8, 13}, expand_node);
  t.add("Tile", {6, 13}, tile);
  t.add("Concat", {1, 4, 11, 13}, concat_node);
  t.add("DepthToSpace", {1, 11, 13, 28}, depth_to_space);
  t.add("SpaceToDepth", {1, 13, 28}, space_to_depth);
}

}  // namespace arbalest
