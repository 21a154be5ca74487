// Results that a function on the host computes, of a size that only the data tell.
//
// Where all that the function reads is known at import, it is called there and the results are Constants. Otherwise a
// segment of the graph ends: the results are inputs that are computed inside each step, and their size is a symbol.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "onnx_import/op_context.h"

namespace arbalest {

struct HostCall {
  using Function = std::function<std::vector<HostTensor>(const std::vector<HostTensor>& sources)>;

  std::string what;  // name and attributes: calls with the same one and the same sources share their results
  Values sources;
  Function function;
  // Types of the results; `count` is the size that only the data tell. Each result but those of known shapes has it.
  std::function<std::vector<TensorType>(const Dim& count)> types;
};

Values host_results(OpContext& op, const HostCall& call);

// A value that the graph is made from and that only the data tell: a segment ends in front of the node, and the graph
// is made again for what the value turns out to be (OpContext::told).
void end_segment_for(OpContext& op, const Value& value);

// The value, where it is known at import: a Constant, or small and computed from sizes that are numbers. Else null.
TensorPtr known_tensor(const Value& value);

}  // namespace arbalest
