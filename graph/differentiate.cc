#include "graph/differentiate.h"

#include <algorithm>

#include "graph/join_slices.h"
#include "graph/primitive_fields.h"

namespace arbalest {

namespace {

// More operands than this make a chain of sums: kernels hold a bounded number of operands.
constexpr size_t kMaxSummands = 8;

template <class P>
concept Differentiable = requires(const P& p, GradientContext& g) {
  { gradient(p, g) } -> std::same_as<Values>;
};

bool is_differentiable(const Primitive& primitive) {
  return std::visit([](const auto& p) { return Differentiable<std::decay_t<decltype(p)>>; }, primitive);
}

Values apply_rule(const Primitive& primitive, GradientContext& context) {
  return std::visit(
      [&](const auto& p) -> Values {
        if constexpr (Differentiable<std::decay_t<decltype(p)>>) return gradient(p, context);
        throw Error(ErrorKind::internal, "{} has no gradient", p.kName);
      },
      primitive);
}

Value sum(const Values& terms) {
  Value total = terms[0];
  for (size_t done = 1; done < terms.size();) {
    const size_t end = std::min(terms.size(), done + kMaxSummands - 1);
    Values operands{total};
    operands.insert(operands.end(), terms.begin() + static_cast<int64_t>(done),
                    terms.begin() + static_cast<int64_t>(end));
    Scalar expression = Scalar::input(0, total.dtype());
    for (size_t i = 1; i < operands.size(); ++i) {
      expression = expression + Scalar::input(static_cast<int>(i), total.dtype());
    }
    total = map_expression(expression, operands);
    done = end;
  }
  return total;
}

class Differentiation {
 public:
  Differentiation(Graph& graph, const std::vector<ValueId>& wanted)
      : graph_(graph), builder_(graph), forward_nodes_(graph.nodes.size()), active_(graph.values.size(), false) {
    for (const ValueId v : wanted) active_[v.at()] = true;
    for (const Node& n : graph.nodes) {
      if (std::none_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return active_[v.at()]; })) continue;
      if (std::holds_alternative<StopGradient>(n.primitive)) continue;
      for (const ValueId v : n.outputs) active_[v.at()] = is_float(graph.at(v).type.dtype);
    }
    contributions_.resize(graph.values.size());
    unreachable_.resize(graph.values.size(), false);
  }

  std::vector<ValueId> run(ValueId loss, const std::vector<ValueId>& wanted) {
    builder_.set_origin("gradient of the loss");
    contributions_[loss.at()] = {builder_.scalar(1, graph_.at(loss).type.dtype)};
    for (size_t i = forward_nodes_; i-- > 0;) visit(NodeId(i));
    if (!unsupported_.empty()) {
      std::string list;
      for (auto it = unsupported_.rbegin(); it != unsupported_.rend(); ++it) list += "\n  " + *it;
      throw Error(ErrorKind::unsupported, "{} cannot be trained through:{}",
                  unsupported_.size() == 1 ? "1 node" : fmt::format("{} nodes", unsupported_.size()), list);
    }
    std::vector<ValueId> result;
    for (const ValueId v : wanted) {
      const Values& terms = contributions_[v.at()];
      result.push_back(terms.empty() ? ValueId() : total(v).id());
    }
    return result;
  }

 private:
  // The gradient of a value: all its readers have been visited.
  Value total(ValueId v) {
    Values& terms = contributions_[v.at()];
    if (terms.empty()) return Value();
    if (terms.size() > 1) terms = {sum(join_slices(terms))};
    return terms[0];
  }

  void visit(NodeId id) {
    const Node& node = graph_.at(id);
    std::vector<bool> needed;
    for (const ValueId v : node.inputs) needed.push_back(active_[v.at()]);
    if (std::find(needed.begin(), needed.end(), true) == needed.end()) return;
    if (std::holds_alternative<StopGradient>(node.primitive)) return;

    bool flows = false, unreachable = false;
    for (const ValueId v : node.outputs) {
      flows = flows || !contributions_[v.at()].empty();
      unreachable = unreachable || unreachable_[v.at()];
    }
    if (!flows && !unreachable) return;
    const std::string origin = node.origin.empty() ? name_of(node.primitive) : node.origin;
    if (!is_differentiable(node.primitive)) {
      return fail(node, needed, fmt::format("{}: {} has no gradient", origin, name_of(node.primitive)));
    }
    builder_.set_origin("gradient of " + origin);
    if (flows) differentiate(id, needed);
    if (unreachable) fail(node, needed, "");
  }

  void differentiate(NodeId id, const std::vector<bool>& needed) {
    const Node& node = graph_.at(id);
    Values output_gradients;
    for (const ValueId v : node.outputs) output_gradients.push_back(total(v));
    GradientContext context(builder_, id, output_gradients, needed);
    Values gradients;
    try {
      gradients = apply_rule(node.primitive, context);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::unsupported) throw e.within(node.origin);
      return fail(node, needed, e.within(node.origin).what());
    }
    ensure(gradients.size() <= node.inputs.size(), "{}: {} gradients for {} inputs", node.origin, gradients.size(),
           node.inputs.size());
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i] || !needed[i]) continue;
      const ValueId input = node.inputs[i];
      contributions_[input.at()].push_back(sum_to_shape(gradients[i], graph_.at(input).type.shape));
    }
  }

  // The nodes in front of one that cannot be differentiated are still looked at, to list all of them at once.
  void fail(const Node& node, const std::vector<bool>& needed, const std::string& reason) {
    if (!reason.empty()) unsupported_.push_back(reason);
    for (size_t i = 0; i < needed.size(); ++i) {
      if (needed[i]) unreachable_[node.inputs[i].at()] = true;
    }
  }

  Graph& graph_;
  Builder builder_;
  size_t forward_nodes_;
  std::vector<bool> active_;           // float, and depends on a wanted value
  std::vector<Values> contributions_;  // to the gradient of each value, in the order in which they were found
  std::vector<bool> unreachable_;      // behind a node that cannot be differentiated
  std::vector<std::string> unsupported_;
};

}  // namespace

int GradientContext::input_count() const { return static_cast<int>(builder_.graph().at(node_).inputs.size()); }

Value GradientContext::input(int i) const {
  return builder_.value(builder_.graph().at(node_).inputs.at(static_cast<size_t>(i)));
}

Value GradientContext::output(int i) const {
  return builder_.value(builder_.graph().at(node_).outputs.at(static_cast<size_t>(i)));
}

Value GradientContext::output_gradient(int i) const {
  const Value& known = output_gradients_.at(static_cast<size_t>(i));
  if (known) return known;
  const TensorType& type = output(i).type();
  return expand(builder_.scalar(0, type.dtype), type.shape);
}

std::vector<ValueId> gradients_of(Graph& graph, ValueId loss, const std::vector<ValueId>& wanted) {
  ensure(loss && graph.at(loss).type.rank() == 0 && is_float(graph.at(loss).type.dtype),
         "only a float scalar can be differentiated");
  return Differentiation(graph, wanted).run(loss, wanted);
}

void differentiate(Graph& graph) {
  std::vector<ValueId> parameters;
  for (const GraphInput& input : graph.inputs) {
    if (input.role == InputRole::parameter) parameters.push_back(input.value);
  }
  const std::vector<ValueId> gradients = gradients_of(graph, graph.loss, parameters);
  graph.gradients.clear();
  for (size_t i = 0; i < parameters.size(); ++i) graph.gradients.push_back({parameters[i], gradients[i]});
}

}  // namespace arbalest
