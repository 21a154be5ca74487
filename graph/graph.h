// The graph: nodes (primitives) and values, without backend, ONNX or threads.
//
// Invariants (checked by verify): nodes are in topological order, every value has exactly one producer or is an input,
// types are those that infer() gives. Nodes and values are only appended; a pass that removes or reorders builds the
// new order with Graph::keep().
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/id.h"
#include "graph/primitive.h"
#include "graph/types.h"

namespace arbalest {

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;

struct Node {
  Primitive primitive;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::string origin;  // what it came from, for messages and listings: "conv1 (Conv)", "gradient of conv1 (Conv)"
};

struct ValueInfo {
  TensorType type;
  std::string name;  // may be empty; not unique
  NodeId producer;   // none: a graph input, or the value of a node that keep() removed (nothing uses it)
  // Elements of a small tensor, where they are known as integral expressions of the symbols (shape arithmetic).
  std::optional<std::vector<Dim>> contents;
};

enum class InputRole : uint8_t {
  data,       // fed at each step: a model input
  label,      // fed at each step: what the loss compares with
  parameter,  // changed by the optimiser
  state,      // changed by the step itself: running statistics
  computed,   // filled inside the step, where a segment ends
};

struct GraphInput {
  ValueId value;
  std::string name;  // of the ONNX input or initializer
  InputRole role = InputRole::data;
  TensorPtr initial;  // of parameters and states
};

struct GraphOutput {
  ValueId value;
  std::string name;
};

// At the end of a step `state` takes the value of `next`.
struct StateUpdate {
  ValueId state;
  ValueId next;
};

struct ParameterGradient {
  ValueId parameter;
  ValueId gradient;  // none: no gradient reaches the parameter (zero)
};

struct Graph;

// Where only the data tell a size, a segment of the step ends: what depends on the size can be planned once `sources`
// have values. `compute` then gives the values of `inputs` and what `sizes` stand for.
struct SegmentEnd {
  struct Result {
    std::vector<HostTensor> inputs;
    std::vector<int64_t> sizes;
  };
  using Compute = std::function<Result(const std::vector<HostTensor>& sources, const Bindings& known)>;

  std::vector<ValueId> sources;
  std::vector<ValueId> inputs;     // of the graph, with the role `computed`
  std::vector<std::string> sizes;  // symbols
  Compute compute;
  // Where what follows depends on the values of the sources, not only on sizes (a number of trips): the graph for these
  // values, with the same segment ends up to this one, the same parameters and feeds. None: it does not.
  std::function<std::shared_ptr<const Graph>(const std::vector<HostTensor>& sources)> rebuild;
  std::string what;    // names `compute`: ends with the same one and the same sources give the same
  std::string origin;  // as of a node
};

struct Graph {
  // Deques: a reference to a node or value stays valid while others are appended.
  std::deque<Node> nodes;
  std::deque<ValueInfo> values;
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;  // model outputs
  std::vector<StateUpdate> updates;
  std::vector<ParameterGradient> gradients;  // filled by differentiate
  std::vector<SegmentEnd> segment_ends;      // the sources of each depend on the inputs of earlier ones only
  ValueId loss;                              // scalar; set by attach_loss
  ValueId correct;  // int64 scalar: examples (positions) predicted right; none where accuracy has no meaning

  ValueInfo& at(ValueId v) { return values[v.at()]; }
  const ValueInfo& at(ValueId v) const { return values[v.at()]; }
  Node& at(NodeId n) { return nodes[n.at()]; }
  const Node& at(NodeId n) const { return nodes[n.at()]; }
  const Node* producer(ValueId v) const;

  const GraphInput* find_input(const std::string& name) const;
  const GraphOutput* find_output(const std::string& name) const;
  // Every value that must be computed: outputs, loss, correct, gradients, updates, sources of segment ends.
  std::vector<ValueId> roots() const;
  // For each value, the nodes that read it, in order.
  std::vector<std::vector<NodeId>> consumers() const;
  // Rebuilds the node list from `order` (indices of today's nodes, topologically ordered, each at most once).
  void keep(const std::vector<NodeId>& order);
  // Replaces every use of `from` (by nodes, outputs, updates, gradients, loss, correct) by `to`.
  void replace_uses(const std::vector<ValueId>& replacement);  // indexed by value; none: unchanged
};

// Internal error naming the node when an invariant does not hold.
void verify(const Graph& graph);
// All symbols bound; internal error lists those that have no binding.
void bind(Graph& graph, const Bindings& bindings);
// Symbols in the order in which the inputs show them; those of segment ends are among them where an input has them.
std::vector<std::string> symbols(const Graph& graph);

}  // namespace arbalest
