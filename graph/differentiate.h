// Reverse-mode differentiation of a bound graph.
//
// Walks the nodes from the loss backwards, once each, and asks each primitive's gradient rule for the gradients of its
// inputs. Sums of contributions and un-broadcasting happen here, not in the rules. Only paths from a parameter (or
// another requested value) to the loss are visited. No recursion: depth is limited by memory alone.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace arbalest {

// What a gradient rule sees of its node.
class GradientContext {
 public:
  GradientContext(Builder& builder, NodeId node, const Values& output_gradients, const std::vector<bool>& needed)
      : builder_(builder), node_(node), output_gradients_(output_gradients), needed_(needed) {}

  int input_count() const;
  Value input(int i) const;
  Value output(int i) const;
  bool has_output_gradient(int i) const { return static_cast<bool>(output_gradients_.at(i)); }
  Value output_gradient(int i) const;                // zeros of the output's type where none flows
  bool needs(int i) const { return needed_.at(i); }  // whether the gradient of input i is wanted
  Values emit(Primitive primitive, const Values& inputs) { return builder_.emit(std::move(primitive), inputs); }
  Value emit_one(Primitive primitive, const Values& inputs) { return builder_.emit_one(std::move(primitive), inputs); }
  Builder& builder() { return builder_; }

 private:
  Builder& builder_;
  NodeId node_;
  const Values& output_gradients_;
  const std::vector<bool>& needed_;
};

// d loss / d value for each of `wanted`, appended to the graph; none where nothing flows.
// Unsupported error, listing every such node at once, when a path passes a primitive without a gradient.
std::vector<ValueId> gradients_of(Graph& graph, ValueId loss, const std::vector<ValueId>& wanted);

// Fills graph.gradients for every parameter input that trains.
void differentiate(Graph& graph);

}  // namespace arbalest
