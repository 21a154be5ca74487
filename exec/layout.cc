#include "exec/layout.h"

#include <algorithm>
#include <numeric>

#include "graph/base/error.h"

namespace arbalest {

namespace {

// Fills padded_dims and strides of a dense layout whose blocks are set; `order` has the axes from slow to fast.
void make_dense(Layout& layout, const std::vector<int>& order) {
  layout.padded_dims = layout.dims;
  layout.strides.assign(layout.dims.size(), 0);
  int64_t stride = 1;
  for (const auto& [axis, size] : layout.blocks) {
    const int64_t block = layout.block_of(axis);
    int64_t& padded = layout.padded_dims[static_cast<size_t>(axis)];
    padded = (padded + block - 1) / block * block;
    stride *= size;
  }
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    layout.strides[axis] = stride;
    const int64_t outer = std::max<int64_t>(1, layout.padded_dims[axis] / layout.block_of(order[i]));
    require(!__builtin_mul_overflow(stride, outer, &stride), "shape {}: more elements than memory can hold",
            to_string(layout.dims));
  }
}

std::vector<int> identity_order(size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

Layout Layout::row_major(const Dims& dims) { return permuted(dims, identity_order(dims.size())); }

Layout Layout::permuted(const Dims& dims, const std::vector<int>& order) {
  ensure(order.size() == dims.size() &&
             std::is_permutation(order.begin(), order.end(), identity_order(dims.size()).begin()),
         "layout of {}: the order does not name each axis once", to_string(dims));
  Layout layout;
  layout.dims = dims;
  make_dense(layout, order);
  return layout;
}

Layout Layout::channels_last(const Dims& dims) {
  std::vector<int> order{0};
  for (int axis = 2; axis < static_cast<int>(dims.size()); ++axis) order.push_back(axis);
  order.push_back(1);
  return permuted(dims, order);
}

Layout Layout::channel_blocked(const Dims& dims, int64_t block) {
  ensure(dims.size() >= 2 && block >= 1, "layout of {}: no channels to put into blocks of {}", to_string(dims), block);
  Layout layout;
  layout.dims = dims;
  layout.blocks = {{1, block}};
  make_dense(layout, identity_order(dims.size()));
  return layout;
}

Layout Layout::resized(const Dims& new_dims) const {
  ensure(new_dims.size() == dims.size(), "layout of {} cannot become one of {}", to_string(dims), to_string(new_dims));
  Layout layout;
  layout.dims = new_dims;
  layout.blocks = blocks;
  make_dense(layout, order());
  return layout;
}

std::vector<int> Layout::order() const {
  std::vector<int> axes = identity_order(dims.size());
  if (is_row_major() && blocks.empty()) return axes;
  std::stable_sort(axes.begin(), axes.end(),
                   [&](int a, int b) { return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)]; });
  return axes;
}

int64_t Layout::block_of(int axis) const {
  int64_t product = 1;
  for (const auto& [blocked, size] : blocks) product *= blocked == axis ? size : 1;
  return product;
}

std::vector<Layout::Digit> Layout::digits(int axis) const {
  std::vector<Digit> all = {
      {padded_dims[static_cast<size_t>(axis)] / block_of(axis), strides[static_cast<size_t>(axis)]}};
  int64_t stride = 1;
  for (const auto& [blocked, size] : blocks) stride *= size;
  for (const auto& [blocked, size] : blocks) {
    stride /= size;
    if (blocked == axis) all.push_back({size, stride});
  }
  std::vector<Digit> merged;
  for (const Digit& d : all) {
    if (d.size == 1) continue;
    if (!merged.empty() && merged.back().stride == d.stride * d.size) {
      merged.back() = {merged.back().size * d.size, d.stride};
    } else {
      merged.push_back(d);
    }
  }
  return merged;
}

int64_t Layout::elements() const {
  int64_t last = 0;
  for (int axis = 0; axis < rank(); ++axis) {
    if (dims[static_cast<size_t>(axis)] == 0) return 0;
    for (const Digit& d : digits(axis)) last += (d.size - 1) * d.stride;
  }
  return last + 1;
}

bool Layout::is_row_major() const {
  if (has_padding()) return false;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return true;
  int64_t stride = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    const int64_t size = dims[static_cast<size_t>(axis)];
    if (size == 1) continue;
    const std::vector<Digit> d = digits(axis);
    if (d.size() != 1 || d[0].stride != stride) return false;
    stride *= size;
  }
  return true;
}

bool Layout::is_permutation() const { return blocks.empty() && elements() == element_count(dims); }

std::string Layout::text() const {
  if (dims.empty()) return "scalar";
  std::string text;
  for (const int axis : order()) {
    text += static_cast<char>((block_of(axis) > 1 ? 'A' : 'a') + axis);
  }
  for (const auto& [axis, size] : blocks) text += std::to_string(size) + static_cast<char>('a' + axis);
  return text;
}

bool operator==(const Layout& a, const Layout& b) {
  if (a.dims != b.dims || a.padded_dims != b.padded_dims) return false;
  if (a.elements() == 0) return true;
  for (int axis = 0; axis < a.rank(); ++axis) {
    if (a.digits(axis) != b.digits(axis)) return false;
  }
  return true;
}

}  // namespace arbalest
