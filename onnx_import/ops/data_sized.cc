// Operators whose results have sizes that only the data tell. Where what decides is known at import, they are evaluated
// here; what they pick is then an ordinary Gather, with its gradient.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "graph/base/error.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

// Input i, known at import: a tensor of the model, or small and computed from sizes that are numbers.
TensorPtr known_tensor(OpContext& op, int i) {
  if (const TensorPtr tensor = op.constant_tensor(i)) return tensor;
  const Value value = op.input(i);
  const auto& contents = op.builder().graph().at(value.id()).contents;
  const bool known = contents && value.shape().is_static() &&
                     std::all_of(contents->begin(), contents->end(), [](const Dim& d) { return d.is_constant(); });
  if (!known) {
    throw Error(ErrorKind::unsupported,
                "the size of the result depends on the data of input {} ({}); only a constant of the model can be used "
                "here: choose an output before this node, or keep this part out of the exported model",
                i, to_string(value.type()));
  }
  HostTensor t(DataType::i64, value.shape().dims());
  std::transform(contents->begin(), contents->end(), t.as<int64_t>().begin(), [](const Dim& d) { return d.value(); });
  return std::make_shared<const HostTensor>(t.to(value.dtype()));
}

Value vector_of(OpContext& op, const std::vector<int64_t>& elements, Dims dims) {
  return op.builder().constant(std::make_shared<const HostTensor>(HostTensor::i64(std::move(dims), elements)));
}

Value vector_of(OpContext& op, const std::vector<int64_t>& elements) {
  return vector_of(op, elements, {std::ssize(elements)});
}

Value as_vector(const Value& x) { return reshape(x, {x.shape().element_count()}); }

// Compress-9, 11, 28
Values compress(OpContext& op) {
  const bool flat = !op.has_attribute("axis");
  const Value x = flat ? as_vector(op.input(0)) : op.input(0);
  const int axis = flat ? 0 : normalise_axis(op.attribute("axis", 0), x.rank());
  const TensorPtr condition = known_tensor(op, 1);
  require(condition->dtype == DataType::boolean && condition->dims.size() == 1,
          "the condition is {} of shape {}, expected a vector of bool", name_of(condition->dtype),
          to_string(condition->dims));
  std::vector<int64_t> chosen;
  const HostTensor wide = condition->to(DataType::i64);
  for (int64_t i = 0; i < wide.element_count(); ++i) {
    if (wide.as<int64_t>()[static_cast<size_t>(i)] != 0) chosen.push_back(i);
  }
  return {gather(x, vector_of(op, chosen), axis)};
}

// NonZero-9, 13: coordinates of the elements that are not zero, an axis of the input a row
Values non_zero(OpContext& op) {
  const TensorPtr x = known_tensor(op, 0);
  const HostTensor wide = x->to(DataType::f64);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < wide.element_count(); ++i) {
    if (wide.as<double>()[static_cast<size_t>(i)] != 0) places.push_back(i);
  }
  const Dims strides = row_major_strides(x->dims);
  std::vector<int64_t> coordinates;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    for (const int64_t place : places) coordinates.push_back(place / strides[axis] % x->dims[axis]);
  }
  return {vector_of(op, coordinates, {std::ssize(strides), std::ssize(places)})};
}

// ---- Unique-11, 28

// Slices of a tensor along an axis, compared element by element in row-major order; NaN is equal to itself and greater
// than every number.
template <class T>
class Slices {
 public:
  Slices(const HostTensor& t, int axis) : elements_(t.as<T>()) {
    for (int i = 0; i < std::ssize(t.dims); ++i) {
      (i < axis ? outer_ : inner_) *= i == axis ? 1 : t.dims[static_cast<size_t>(i)];
    }
    size_ = t.dims[static_cast<size_t>(axis)];
  }
  int64_t size() const { return size_; }
  int compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < outer_; ++o) {
      for (int64_t i = 0; i < inner_; ++i) {
        const T x = at(o, a, i), y = at(o, b, i);
        if (x == y || (x != x && y != y)) continue;
        return y != y || x < y ? -1 : 1;
      }
    }
    return 0;
  }

 private:
  T at(int64_t outer, int64_t slice, int64_t inner) const {
    return elements_[static_cast<size_t>((outer * size_ + slice) * inner_ + inner)];
  }

  std::span<const T> elements_;
  int64_t outer_ = 1, size_ = 1, inner_ = 1;
};

struct UniqueSlices {
  std::vector<int64_t> first;    // of each different slice, where it occurs first
  std::vector<int64_t> inverse;  // of each slice, which of these it is
  std::vector<int64_t> counts;   // of each of these, how often it occurs
};

template <class T>
UniqueSlices unique_slices(const Slices<T>& slices, bool sorted) {
  std::vector<int64_t> order(static_cast<size_t>(slices.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return slices.compare(a, b) < 0; });
  std::vector<int64_t> first_of(order.size());
  UniqueSlices result;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices.compare(order[i - 1], order[i]) != 0) result.first.push_back(order[i]);
    first_of[static_cast<size_t>(order[i])] = result.first.back();
  }
  if (!sorted) std::sort(result.first.begin(), result.first.end());
  std::vector<int64_t> place(order.size());
  for (size_t n = 0; n < result.first.size(); ++n)
    place[static_cast<size_t>(result.first[n])] = static_cast<int64_t>(n);
  result.counts.resize(result.first.size());
  for (const int64_t first : first_of) {
    result.inverse.push_back(place[static_cast<size_t>(first)]);
    ++result.counts[static_cast<size_t>(result.inverse.back())];
  }
  return result;
}

Values unique(OpContext& op) {
  const bool flat = !op.has_attribute("axis");
  const bool sorted = op.attribute("sorted", 1) != 0;
  HostTensor t = *known_tensor(op, 0);
  if (flat) t.dims = {t.element_count()};
  const int axis = flat ? 0 : normalise_axis(op.attribute("axis", 0), static_cast<int>(t.dims.size()));
  const UniqueSlices u = is_float(t.dtype) ? unique_slices(Slices<double>(t.to(DataType::f64), axis), sorted)
                                           : unique_slices(Slices<int64_t>(t.to(DataType::i64), axis), sorted);
  const Value x = flat ? as_vector(op.input(0)) : op.input(0);
  const Value first = vector_of(op, u.first);
  return {gather(x, first, axis), first, vector_of(op, u.inverse), vector_of(op, u.counts)};
}

// ---- NonMaxSuppression-10, 11

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const double shared = height * width, whole = a.area() + b.area() - shared;
  return whole > 0 ? shared / whole : 0;
}

std::vector<Box> boxes_of(const HostTensor& t, bool by_centre) {
  std::vector<Box> boxes;
  const auto e = t.as<double>();
  for (size_t i = 0; i + 4 <= e.size(); i += 4) {
    if (by_centre) {  // x, y, width, height
      boxes.push_back({e[i + 1] - e[i + 3] / 2, e[i] - e[i + 2] / 2, e[i + 1] + e[i + 3] / 2, e[i] + e[i + 2] / 2});
    } else {  // two opposite corners
      boxes.push_back({std::min(e[i], e[i + 2]), std::min(e[i + 1], e[i + 3]), std::max(e[i], e[i + 2]),
                       std::max(e[i + 1], e[i + 3])});
    }
  }
  return boxes;
}

struct SuppressionLimits {
  int64_t boxes;
  double overlap;
  double score;
};

// Boxes by falling score, without those that overlap a better one too much.
std::vector<int64_t> kept_boxes(std::span<const Box> boxes, std::span<const double> scores, SuppressionLimits limits) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < std::ssize(boxes); ++i) {
    if (scores[static_cast<size_t>(i)] > limits.score) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  std::vector<int64_t> kept;
  for (const int64_t i : order) {
    if (std::ssize(kept) >= limits.boxes) break;
    const Box& box = boxes[static_cast<size_t>(i)];
    const bool free = std::none_of(kept.begin(), kept.end(), [&](int64_t k) {
      return overlap(boxes[static_cast<size_t>(k)], box) > limits.overlap;
    });
    if (free) kept.push_back(i);
  }
  return kept;
}

Values non_max_suppression(OpContext& op) {
  const HostTensor boxes_tensor = known_tensor(op, 0)->to(DataType::f64);
  const HostTensor scores = known_tensor(op, 1)->to(DataType::f64);
  const Dims &b = boxes_tensor.dims, &s = scores.dims;
  require(b.size() == 3 && s.size() == 3 && b[2] == 4 && s[0] == b[0] && s[2] == b[1],
          "boxes of shape {} and scores of shape {}", to_string(b), to_string(s));
  const auto limit = [&](int i, double otherwise) {
    if (!op.has_input(i)) return otherwise;
    const HostTensor t = known_tensor(op, i)->to(DataType::f64);
    require(t.element_count() == 1, "input {} has {} elements, expected 1", i, t.element_count());
    return t.as<double>()[0];
  };
  const double most = limit(2, 0);
  const SuppressionLimits limits{most > 0 ? static_cast<int64_t>(std::min(most, static_cast<double>(b[1]))) : 0,
                                 limit(3, 0), limit(4, -INFINITY)};
  const std::vector<Box> boxes = boxes_of(boxes_tensor, op.attribute("center_point_box", 0) != 0);
  const auto n = static_cast<size_t>(b[1]);
  std::vector<int64_t> chosen;
  for (int64_t batch = 0; batch < s[0]; ++batch) {
    for (int64_t c = 0; c < s[1]; ++c) {
      const auto of_batch = std::span(boxes).subspan(static_cast<size_t>(batch) * n, n);
      const auto of_class = scores.as<double>().subspan(static_cast<size_t>(batch * s[1] + c) * n, n);
      for (const int64_t i : kept_boxes(of_batch, of_class, limits)) chosen.insert(chosen.end(), {batch, c, i});
    }
  }
  return {vector_of(op, chosen, {std::ssize(chosen) / 3, 3})};
}

}  // namespace

void register_data_sized(Translator& t);
void register_data_sized(Translator& t) {
  t.add("Compress", {9, 11, 28}, compress);
  t.add("NonZero", {9, 13}, non_zero);
  t.add("Unique", {11, 28}, unique);
  t.add("NonMaxSuppression", {10, 11}, non_max_suppression);
}

}  // namespace arbalest
