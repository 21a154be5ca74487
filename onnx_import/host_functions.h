// Functions whose results have sizes that only the data tell, on tensors in ordinary memory. All results are int64.
#pragma once

#include <array>
#include <vector>

#include "graph/host_tensor.h"

namespace arbalest {

// Of the elements that are not zero, in row-major order: a row an axis, a column an element.
HostTensor non_zero_coordinates(const HostTensor& x);

// Slices along an axis that differ: where each occurs first; of all slices, which of these it is; how often each
// occurs. In ascending order, or in the order in which they occur first.
std::vector<HostTensor> unique_slices(const HostTensor& t, int axis, bool sorted);

// ONNX NonMaxSuppression: batch, class and box of each box kept, [n, 3]. Limits: most boxes of a class, least overlap
// that suppresses, least score; null: the operator's default.
HostTensor boxes_kept(const HostTensor& boxes, const HostTensor& scores, const std::array<const HostTensor*, 3>& limits,
                      bool by_centre);

// Elements of a range of floats, or one computed from the data: a few bytes cannot ask for all memory.
constexpr int64_t kMaxRangeElements = 1 << 24;
// 0, 1, ... for each element of a range.
HostTensor range_positions(const HostTensor& start, const HostTensor& limit, const HostTensor& step);

}  // namespace arbalest
