// Gradient of ai.onnx.preview.training: derivatives of a tensor of the model as an ordinary node.
#include <map>

#include "graph/base/error.h"
#include "graph/differentiate.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

using Replacements = std::map<ValueId, Value>;

// Which nodes y depends on.
std::vector<bool> ancestors(const Graph& graph, ValueId y) {
  std::vector<bool> wanted(graph.values.size(), false), needed(graph.nodes.size(), false);
  wanted[y.at()] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    for (const ValueId v : node.outputs) needed[i] = needed[i] || wanted[v.at()];
    for (const ValueId v : node.inputs) wanted[v.at()] = wanted[v.at()] || needed[i];
  }
  return needed;
}

// y computed again from other values in place of some that it depends on.
Value recomputed(const Value& y, Replacements values) {
  Builder& b = y.builder();
  const std::vector<bool> needed = ancestors(b.graph(), y.id());
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    const Node& node = b.graph().nodes[i];
    bool changes = false;
    Values inputs;
    for (const ValueId v : node.inputs) {
      const auto found = values.find(v);
      changes = changes || found != values.end();
      inputs.push_back(found == values.end() ? b.value(v) : found->second);
    }
    if (!changes) continue;
    const std::vector<ValueId> replaced = node.outputs;
    const Values outputs = b.emit(node.primitive, inputs);
    for (size_t k = 0; k < replaced.size(); ++k) values.emplace(replaced[k], outputs[k]);  // given values stay
  }
  const auto found = values.find(y.id());
  return found == values.end() ? y : found->second;
}

Value sum_of_elements(const Value& y) {
  std::vector<int> axes;
  for (int i = 0; i < y.rank(); ++i) axes.push_back(i);
  return reduce(Reduction::sum, y, axes, Keep::no);
}

// Gradient-1: the inputs are the values at which xs and zs are taken; y is seeded with ones
Values gradient_node(OpContext& op) {
  require(op.has_attribute("y"), "attribute 'y' is missing");
  const std::string y_name = op.attribute("y", "");
  const std::vector<std::string> xs = op.string_list("xs"), zs = op.string_list("zs");
  std::vector<std::string> names = xs;
  names.insert(names.end(), zs.begin(), zs.end());
  require(static_cast<int>(names.size()) == op.input_count() && !xs.empty(), "{} names in xs and zs for {} inputs",
          names.size(), op.input_count());
  Value y = op.named(y_name);
  require(static_cast<bool>(y), "y is '{}', which has no value here", y_name);
  Values wanted;
  Replacements replacements;
  for (size_t i = 0; i < names.size(); ++i) {
    const Value at = op.input(static_cast<int>(i)), named = op.named(names[i]);
    require(static_cast<bool>(named), "'{}' has no value here", names[i]);
    if (!(at == named)) replacements.emplace(named.id(), at);
    if (i < xs.size()) wanted.push_back(at);
  }
  if (!replacements.empty()) y = recomputed(y, replacements);
  require(is_float(y.dtype()), "y is '{}' ({}), expected floats", y_name, to_string(y.type()));
  std::vector<ValueId> ids;
  for (const Value& x : wanted) ids.push_back(x.id());
  const std::vector<ValueId> gradients = gradients_of(op.builder().graph(), sum_of_elements(y).id(), ids);
  Values outputs;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const TensorType& type = wanted[i].type();
    outputs.push_back(gradients[i] ? op.builder().value(gradients[i])
                                   : expand(op.builder().scalar(0, type.dtype), type.shape));
  }
  return outputs;
}

}  // namespace

void register_gradient(Translator& t);
void register_gradient(Translator& t) { t.add("Gradient", {1}, gradient_node, "ai.onnx.preview.training"); }

}  // namespace arbalest
