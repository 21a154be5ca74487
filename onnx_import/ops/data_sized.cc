// Operators whose results have sizes that only the data tell. What they pick is computed on the host; the rest is an
// ordinary Gather, with its gradient.
#include <numeric>

#include "graph/base/error.h"
#include "graph/element_index.h"
#include "onnx_import/host_functions.h"
#include "onnx_import/host_results.h"

namespace arbalest {
namespace {

constexpr DataType kIndex = DataType::i64;

Value as_vector(const Value& x) { return reshape(x, {x.shape().element_count()}); }

// As many equal elements that are not zero as a size says: how exporters once wrote a range.
bool is_filled_vector(const Value& x) {
  const Graph& graph = x.builder().graph();
  const Node* expand = graph.producer(x.id());
  if (x.rank() != 1 || !expand || !std::holds_alternative<Expand>(expand->primitive)) return false;
  const TensorPtr element = known_tensor(x.builder().value(expand->inputs[0]));
  return element && element->element_count() == 1 && element->to(DataType::f64).as<double>()[0] != 0;
}

Value coordinates_of_non_zero(OpContext& op, const Value& x) {
  if (is_filled_vector(x)) return position_numbers(op.builder(), x.shape()[0], 1, 2);
  const Dim rank(x.rank());
  return host_results(op, {"NonZero",
                           {x},
                           [](const std::vector<HostTensor>& s) { return std::vector{non_zero_coordinates(s[0])}; },
                           [rank](const Dim& count) {
                             return std::vector<TensorType>{{kIndex, Shape{rank, count}}};
                           }})[0];
}

// Compress-9, 11, 28
Values compress(OpContext& op) {
  const bool flat = !op.has_attribute("axis");
  const Value x = flat ? as_vector(op.input(0)) : op.input(0);
  const int axis = flat ? 0 : normalise_axis(op.attribute("axis", 0), x.rank());
  const Value condition = op.input(1);
  require(condition.dtype() == DataType::boolean && condition.rank() == 1,
          "the condition is {}, expected a vector of bool", to_string(condition.type()));
  return {gather(x, as_vector(coordinates_of_non_zero(op, condition)), axis)};
}

// NonZero-9, 13
Values non_zero(OpContext& op) { return {coordinates_of_non_zero(op, op.input(0))}; }

// Unique-11, 28
Values unique(OpContext& op) {
  const bool flat = !op.has_attribute("axis");
  const bool sorted = op.attribute("sorted", 1) != 0;
  const Value x = flat ? as_vector(op.input(0)) : op.input(0);
  const int axis = flat ? 0 : normalise_axis(op.attribute("axis", 0), x.rank());
  const Dim slices = x.shape()[static_cast<size_t>(axis)];
  const Values results = host_results(
      op, {fmt::format("Unique along {}, sorted {}", axis, sorted),
           {x},
           [=](const std::vector<HostTensor>& s) { return unique_slices(s[0], axis, sorted); },
           [=](const Dim& count) {
             return std::vector<TensorType>{{kIndex, Shape{count}}, {kIndex, Shape{slices}}, {kIndex, Shape{count}}};
           }});
  return {gather(x, results[0], axis), results[0], results[1], results[2]};
}

// NonMaxSuppression-10, 11
Values non_max_suppression(OpContext& op) {
  const bool by_centre = op.attribute("center_point_box", 0) != 0;
  Values sources{op.input(0), op.input(1)};
  std::array<size_t, 3> place{};  // of the limits among the sources; 0: not given
  for (size_t i = 0; i < place.size(); ++i) {
    const int input = static_cast<int>(i) + 2;
    if (!op.has_input(input)) continue;
    place[i] = sources.size();
    sources.push_back(op.input(input));
  }
  const auto function = [=](const std::vector<HostTensor>& s) {
    std::array<const HostTensor*, 3> limits{};
    for (size_t i = 0; i < place.size(); ++i) limits[i] = place[i] ? &s[place[i]] : nullptr;
    return std::vector{boxes_kept(s[0], s[1], limits, by_centre)};
  };
  return host_results(op, {fmt::format("NonMaxSuppression {} {}", by_centre, fmt::join(place, " ")), sources, function,
                           [](const Dim& count) {
                             return std::vector<TensorType>{{kIndex, Shape{count, Dim(3)}}};
                           }});
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
