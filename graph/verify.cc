// verify(): the invariants that graph.h states, checked in one pass.

#include <set>

#include "graph/graph.h"

namespace arbalest {

namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph), known_(graph.values.size(), false), input_(graph.values.size()) {}

  void run() {
    inputs();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) node(i);
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      ensure(known_[i] || !graph_.values[i].producer, "value {}: its producer does not list it among its outputs", i);
    }
    uses();
  }

 private:
  void in_range(ValueId v, const std::string& what) const {
    ensure(v && v.at() < graph_.values.size(), "{}: value {} of {}", what, v.index, graph_.values.size());
  }

  void is_known(ValueId v, const std::string& what) const {
    in_range(v, what);
    ensure(known_[v.at()], "{}: nothing before it computes value {}", what, v.index);
  }

  void define(ValueId v, const std::string& what) {
    in_range(v, what);
    ensure(!known_[v.at()], "{}: value {} is already computed elsewhere", what, v.index);
    known_[v.at()] = true;
  }

  void inputs() {
    std::set<std::string> names;
    for (const GraphInput& input : graph_.inputs) {
      const std::string what = "input " + input.name;
      define(input.value, what);
      ensure(names.insert(input.name).second, "{}: two inputs have this name", what);
      ensure(!graph_.at(input.value).producer, "{}: a node computes it", what);
      input_[input.value.at()] = &input;
      if (!input.initial) continue;
      const TensorType initial{input.initial->dtype, input.initial->dims};
      ensure(initial == graph_.at(input.value).type, "{}: its type is {}, its initial value's {}", what,
             to_string(graph_.at(input.value).type), to_string(initial));
    }
  }

  void node(size_t i) {
    const Node& n = graph_.nodes[i];
    const std::string what =
        fmt::format("node {} ({}{}{})", i, name_of(n.primitive), n.origin.empty() ? "" : " of ", n.origin);
    std::vector<TensorType> inputs;
    for (const ValueId v : n.inputs) {
      is_known(v, what);
      inputs.push_back(graph_.at(v).type);
    }
    for (const ValueId v : n.outputs) {
      define(v, what);
      ensure(graph_.at(v).producer == NodeId(i), "{}: value {} names another producer", what, v.index);
    }
    types(n, inputs, what);
  }

  void types(const Node& n, Types inputs, const std::string& what) const {
    std::vector<TensorType> types;
    try {
      types = infer(n.primitive, inputs);
    } catch (const Error& e) {
      throw Error(ErrorKind::internal, "{}: {}", what, e.what());
    }
    ensure(types.size() == n.outputs.size(), "{}: {} outputs, expected {}", what, n.outputs.size(), types.size());
    for (size_t k = 0; k < types.size(); ++k) {
      const ValueInfo& v = graph_.at(n.outputs[k]);
      ensure(v.type == types[k], "{}: output {} has type {}, expected {}", what, k, to_string(v.type),
             to_string(types[k]));
      ensure(!v.contents || Dim(static_cast<int64_t>(v.contents->size())) == v.type.shape.element_count(),
             "{}: output {} is {} with {} known elements", what, k, to_string(v.type), v.contents->size());
    }
  }

  void same_type(ValueId a, ValueId b, const std::string& what) const {
    ensure(graph_.at(a).type == graph_.at(b).type, "{}: type {}, expected {}", what, to_string(graph_.at(b).type),
           to_string(graph_.at(a).type));
  }

  void is_input(ValueId v, InputRole role, const std::string& what) const {
    in_range(v, what);
    const GraphInput* input = input_[v.at()];
    ensure(input && input->role == role, "{}: value {} is not such an input", what, v.index);
  }

  void uses() const {
    for (const GraphOutput& o : graph_.outputs) is_known(o.value, "output " + o.name);
    if (graph_.loss) {
      is_known(graph_.loss, "loss");
      const TensorType& type = graph_.at(graph_.loss).type;
      ensure(type.rank() == 0 && is_float(type.dtype), "loss: type {}, expected a float scalar", to_string(type));
    }
    if (graph_.correct) {
      is_known(graph_.correct, "correct");
      const TensorType& type = graph_.at(graph_.correct).type;
      ensure((type == TensorType{DataType::i64, {}}), "correct: type {}, expected int64 scalar", to_string(type));
    }
    for (const ParameterGradient& g : graph_.gradients) {
      is_input(g.parameter, InputRole::parameter, "gradient");
      if (!g.gradient) continue;
      is_known(g.gradient, "gradient");
      same_type(g.parameter, g.gradient, "gradient");
    }
    for (const SegmentEnd& end : graph_.segment_ends) {
      for (const ValueId v : end.sources) is_known(v, "segment end");
      for (const ValueId v : end.inputs) is_input(v, InputRole::computed, "segment end");
    }
    for (const StateUpdate& u : graph_.updates) {
      is_input(u.state, InputRole::state, "update");
      is_known(u.next, "update");
      same_type(u.state, u.next, "update");
    }
  }

  const Graph& graph_;
  std::vector<bool> known_;               // inputs and what the nodes so far compute
  std::vector<const GraphInput*> input_;  // of each value, or null
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace arbalest
