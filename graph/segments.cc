#include "graph/segments.h"

#include <algorithm>

#include "graph/passes/passes.h"

namespace arbalest {

void check_labels(const Graph& graph, const Bindings& bindings) {
  for (const GraphInput& input : graph.inputs) {
    if (input.role != InputRole::label) continue;
    const Shape& shape = graph.at(input.value).type.shape;
    std::vector<std::string> names;
    for (const Dim& d : shape) d.add_symbols(names);
    for (const SegmentEnd& end : graph.segment_ends) {
      const auto is_open = [&](const std::string& size) {
        return std::find(names.begin(), names.end(), size) != names.end() && !bindings.contains(size);
      };
      if (std::any_of(end.sizes.begin(), end.sizes.end(), is_open))
        throw Error(ErrorKind::unsupported,
                    "{}: the loss compares an output of shape {} with labels, and only the data of each batch tell how "
                    "many there are; choose an output whose size is known, or one that is a loss (--output, --loss)",
                    end.origin, to_string(shape));
    }
  }
}

Graph segment(const Graph& graph, size_t index) {
  Graph part = graph;
  part.segment_ends.clear();
  if (index == graph.segment_ends.size()) return part;
  part.outputs.clear();
  for (const ValueId v : graph.segment_ends[index].sources) part.outputs.push_back({v, ""});
  part.updates.clear();
  part.gradients.clear();
  part.loss = part.correct = ValueId();
  for (size_t end = index; end < graph.segment_ends.size(); ++end) {
    const std::vector<ValueId>& later = graph.segment_ends[end].inputs;
    std::erase_if(part.inputs,
                  [&](const GraphInput& i) { return std::find(later.begin(), later.end(), i.value) != later.end(); });
  }
  drop_dead_nodes(part);
  return part;
}

std::vector<HostTensor> finish_segment(const SegmentEnd& end, const std::vector<HostTensor>& sources,
                                       Bindings& bindings) {
  try {
    SegmentEnd::Result result = end.compute(sources, bindings);
    ensure(result.sizes.size() == end.sizes.size() && result.inputs.size() == end.inputs.size(),
           "{} sizes and {} inputs are computed", result.sizes.size(), result.inputs.size());
    for (size_t i = 0; i < end.sizes.size(); ++i) {
      const auto [known, is_new] = bindings.emplace(end.sizes[i], result.sizes[i]);
      require(is_new || known->second == result.sizes[i],
              "the data give {} elements, a label is given for {}: they must be as many", result.sizes[i],
              known->second);
    }
    return std::move(result.inputs);
  } catch (const Error& e) {
    throw e.within(end.origin);
  }
}

Bindings with_computed_sizes(const Graph& graph, Bindings bindings, int64_t size) {
  for (const SegmentEnd& end : graph.segment_ends)
    for (const std::string& name : end.sizes) bindings.emplace(name, size);
  return bindings;
}

}  // namespace arbalest
