// Segments of a graph whose sizes are partly told by the data.
//
// A graph with n segment ends has n + 1 segments. Segment i < n is what the sources of end i need; the last one is the
// whole graph. Each can be bound and planned once the ends before it have given their sizes. A segment computes again
// what an earlier one has computed: nothing but the inputs of the ends passes from one to the next.
#pragma once

#include "graph/graph.h"

namespace arbalest {

// Outputs of a segment that is not the last: the sources of its end, in order. Its inputs are those of the graph,
// without what this end and later ones give.
Graph segment(const Graph& graph, size_t index);

// Unsupported error where a label has a size that a segment end gives and nothing else binds: labels come with the
// batch, before the first segment.
void check_labels(const Graph& graph, const Bindings& bindings);

// The inputs that an end gives for these values of its sources; binds its sizes. Model error where a size is bound
// already (by the labels that are given) and is another one.
std::vector<HostTensor> finish_segment(const SegmentEnd& end, const std::vector<HostTensor>& sources,
                                       Bindings& bindings);

// Sizes for an estimate of cost, before any data are there: each that a segment end gives is taken as `size`.
Bindings with_computed_sizes(const Graph& graph, Bindings bindings, int64_t size);

}  // namespace arbalest
