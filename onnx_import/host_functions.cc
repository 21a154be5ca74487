#include "onnx_import/host_functions.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "graph/base/error.h"

namespace arbalest {
namespace {

HostTensor integers(const std::vector<int64_t>& elements, Dims dims) {
  return HostTensor::i64(std::move(dims), elements);
}

HostTensor integers(const std::vector<int64_t>& elements) { return integers(elements, {std::ssize(elements)}); }

// ---- slices that differ

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

// ---- boxes that overlap

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

double number(const HostTensor& t) {
  require(t.element_count() == 1, "a limit has {} elements, expected 1", t.element_count());
  return t.to(DataType::f64).as<double>()[0];
}

SuppressionLimits limits_of(const std::array<const HostTensor*, 3>& given, int64_t boxes) {
  const double most = given[0] ? number(*given[0]) : 0;
  return {most > 0 ? static_cast<int64_t>(std::min(most, static_cast<double>(boxes))) : 0,
          given[1] ? number(*given[1]) : 0, given[2] ? number(*given[2]) : -INFINITY};
}

}  // namespace

HostTensor non_zero_coordinates(const HostTensor& x) {
  const HostTensor wide = x.to(DataType::f64);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < wide.element_count(); ++i) {
    if (wide.as<double>()[static_cast<size_t>(i)] != 0) places.push_back(i);
  }
  const Dims strides = row_major_strides(x.dims);
  std::vector<int64_t> coordinates;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    for (const int64_t place : places) coordinates.push_back(place / strides[axis] % x.dims[axis]);
  }
  return integers(coordinates, {std::ssize(strides), std::ssize(places)});
}

std::vector<HostTensor> unique_slices(const HostTensor& t, int axis, bool sorted) {
  const UniqueSlices u = is_float(t.dtype) ? unique_slices(Slices<double>(t.to(DataType::f64), axis), sorted)
                                           : unique_slices(Slices<int64_t>(t.to(DataType::i64), axis), sorted);
  return {integers(u.first), integers(u.inverse), integers(u.counts)};
}

HostTensor boxes_kept(const HostTensor& boxes, const HostTensor& scores, const std::array<const HostTensor*, 3>& limits,
                      bool by_centre) {
  const Dims &b = boxes.dims, &s = scores.dims;
  require(b.size() == 3 && s.size() == 3 && b[2] == 4 && s[0] == b[0] && s[2] == b[1],
          "boxes of shape {} and scores of shape {}", to_string(b), to_string(s));
  const std::vector<Box> all = boxes_of(boxes.to(DataType::f64), by_centre);
  const HostTensor wide = scores.to(DataType::f64);
  const SuppressionLimits most = limits_of(limits, b[1]);
  const auto n = static_cast<size_t>(b[1]);
  std::vector<int64_t> chosen;
  for (int64_t batch = 0; batch < s[0]; ++batch) {
    for (int64_t c = 0; c < s[1]; ++c) {
      const auto of_batch = std::span(all).subspan(static_cast<size_t>(batch) * n, n);
      const auto of_class = wide.as<double>().subspan(static_cast<size_t>(batch * s[1] + c) * n, n);
      for (const int64_t i : kept_boxes(of_batch, of_class, most)) chosen.insert(chosen.end(), {batch, c, i});
    }
  }
  return integers(chosen, {std::ssize(chosen) / 3, 3});
}

HostTensor range_positions(const HostTensor& start, const HostTensor& limit, const HostTensor& step) {
  const auto first = [](const HostTensor& t) {
    require(t.element_count() == 1, "start, limit and delta must be scalars");
    return t.to(DataType::f64).as<double>()[0];
  };
  require(first(step) != 0, "delta is 0");
  const double count = std::ceil((first(limit) - first(start)) / first(step));
  require(count <= static_cast<double>(kMaxRangeElements), "a range of {} elements", count);
  std::vector<int64_t> positions(count > 0 ? static_cast<size_t>(count) : 0);
  std::iota(positions.begin(), positions.end(), 0);
  return integers(positions);
}

}  // namespace arbalest
