#include "onnx_import/host_results.h"

#include <algorithm>

#include "graph/base/error.h"
#include "graph/primitive_fields.h"

namespace arbalest {
namespace {

// Whether two values are computed in the same way; false as well when that takes too long to tell.
bool same_value(const Graph& graph, ValueId a, ValueId b, int& steps_left) {
  if (a == b) return true;
  const Node *x = graph.producer(a), *y = graph.producer(b);
  if (!x || !y || --steps_left < 0 || x->inputs.size() != y->inputs.size() || !equal(x->primitive, y->primitive))
    return false;
  const auto place = [](const Node& n, ValueId v) {
    return std::find(n.outputs.begin(), n.outputs.end(), v) - n.outputs.begin();
  };
  if (place(*x, a) != place(*y, b)) return false;
  for (size_t i = 0; i < x->inputs.size(); ++i)
    if (!same_value(graph, x->inputs[i], y->inputs[i], steps_left)) return false;
  return true;
}

const SegmentEnd* find_same(const Graph& graph, const HostCall& call) {
  for (const SegmentEnd& end : graph.segment_ends) {
    bool same = end.what == call.what && end.sources.size() == call.sources.size();
    int steps = 1000;
    for (size_t i = 0; same && i < call.sources.size(); ++i)
      same = same_value(graph, end.sources[i], call.sources[i].id(), steps);
    if (same) return &end;
  }
  return nullptr;
}

// "conv1" of the origin "conv1 (Conv)", with a part added; unlike the name of any input and of any size.
std::string unused_name(const Graph& graph, const std::string& origin, const std::string& part) {
  std::string name = origin.substr(0, origin.rfind(" (")) + "." + part;
  const std::vector<std::string> sizes = symbols(graph);
  while (graph.find_input(name) || std::find(sizes.begin(), sizes.end(), name) != sizes.end()) name += "_";
  return name;
}

// What the first axis of unknown size has.
int64_t count_in(const std::vector<HostTensor>& results, const std::vector<TensorType>& types) {
  for (size_t i = 0; i < types.size(); ++i) {
    for (size_t axis = 0; axis < types[i].shape.size(); ++axis)
      if (!types[i].shape[axis].is_constant()) return results[i].dims[axis];
  }
  throw Error(ErrorKind::internal, "no result has the size that the data tell");
}

Values end_segment(OpContext& op, const HostCall& call) {
  Builder& builder = op.builder();
  Graph& graph = builder.graph();
  const std::string& origin = builder.origin();
  SegmentEnd end;
  end.what = call.what;
  end.origin = origin;
  for (const Value& v : call.sources) end.sources.push_back(v.id());
  end.sizes = {unused_name(graph, origin, "count")};
  const std::vector<TensorType> types = call.types(Dim::symbol(end.sizes[0], 0));
  Values results;
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string name = unused_name(graph, origin, types.size() == 1 ? "indices" : fmt::format("indices{}", i));
    results.push_back(builder.add_input(name, InputRole::computed, types[i]));
    end.inputs.push_back(results.back().id());
  }
  end.compute = [f = call.function, types = call.types](const std::vector<HostTensor>& sources, const Bindings&) {
    std::vector<HostTensor> computed = f(sources);
    const int64_t count = count_in(computed, types(Dim::symbol("count", 0)));
    return SegmentEnd::Result{std::move(computed), {count}};
  };
  graph.segment_ends.push_back(std::move(end));
  return results;
}

}  // namespace

void end_segment_for(OpContext& op, const Value& value) {
  SegmentEnd end;
  end.origin = op.builder().origin();
  end.sources = {value.id()};
  end.compute = [](const std::vector<HostTensor>&, const Bindings&) { return SegmentEnd::Result{}; };
  op.builder().graph().segment_ends.push_back(std::move(end));
}

TensorPtr known_tensor(const Value& value) {
  const Graph& graph = value.builder().graph();
  const Node* producer = graph.producer(value.id());
  if (const auto* constant = producer ? std::get_if<Constant>(&producer->primitive) : nullptr) return constant->value;
  const auto& contents = graph.at(value.id()).contents;
  const bool known = contents && value.shape().is_static() &&
                     std::all_of(contents->begin(), contents->end(), [](const Dim& d) { return d.is_constant(); });
  if (!known) return nullptr;
  HostTensor t(DataType::i64, value.shape().dims());
  std::transform(contents->begin(), contents->end(), t.as<int64_t>().begin(), [](const Dim& d) { return d.value(); });
  return std::make_shared<const HostTensor>(t.to(value.dtype()));
}

Values host_results(OpContext& op, const HostCall& call) {
  std::vector<HostTensor> known;
  for (const Value& source : call.sources)
    if (const TensorPtr tensor = known_tensor(source)) known.push_back(*tensor);
  Values results;
  if (known.size() == call.sources.size()) {
    for (HostTensor& t : call.function(known))
      results.push_back(op.builder().constant(std::make_shared<const HostTensor>(std::move(t))));
    return results;
  }
  const SegmentEnd* same = find_same(op.builder().graph(), call);
  if (!same) return end_segment(op, call);
  for (const ValueId v : same->inputs) results.push_back(op.builder().value(v));
  return results;
}

}  // namespace arbalest
