#include "graph/loss.h"

#include <numeric>

#include "graph/builder.h"

namespace arbalest {

namespace {

// What a loss sees of the output: the value before the final Softmax, LogSoftmax or Sigmoid.
struct Logits {
  Value value;
  const char* recognised = nullptr;  // the activation that was left out
};

ValueId chosen_output(const Graph& graph, const std::string& name) {
  std::string all, floats;
  std::vector<ValueId> candidates;
  for (const GraphOutput& o : graph.outputs) {
    const TensorType& type = graph.at(o.value).type;
    all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", o.name, to_string(type));
    if (is_float(type.dtype)) candidates.push_back(o.value);
  }
  if (!name.empty()) {
    const GraphOutput* o = graph.find_output(name);
    if (!o) throw Error(ErrorKind::usage, "output '{}': the model has no such output, it has {}", name, all);
    if (!is_float(graph.at(o->value).type.dtype)) {
      throw Error(ErrorKind::usage, "output '{}': a loss needs a float output, this one is {}", name,
                  to_string(graph.at(o->value).type));
    }
    return o->value;
  }
  if (candidates.empty()) throw Error(ErrorKind::usage, "the model has no float output to train: it has {}", all);
  if (candidates.size() > 1)
    throw Error(ErrorKind::usage, "the model has several outputs: {}; choose one of them", all);
  return candidates[0];
}

int class_axis(const LossOptions& options, int rank) {
  if (options.class_axis) {
    const int axis = *options.class_axis;
    if (axis < -rank || axis >= rank) {
      throw Error(ErrorKind::usage, "class axis {} of a rank-{} output", axis, rank);
    }
    return normalise_axis(axis, rank);
  }
  if (rank == 0) throw Error(ErrorKind::usage, "cross-entropy of a scalar output: there is no axis of classes");
  return rank == 1 ? 0 : 1;
}

Dim elements_behind(const Shape& shape, int axis) {
  Shape behind;
  behind.assign(shape.begin() + axis + 1, shape.end());
  return behind.element_count();
}

// The node that computes the value, looked for through reshapes.
const Node* producer_behind_reshapes(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  while (node && std::holds_alternative<Reshape>(node->primitive)) node = graph.producer(node->inputs[0]);
  return node;
}

// Softmax along the class axis: the same axis, or the one that a reshape puts there.
Logits before_softmax(Builder& builder, const Value& output, int axis) {
  const Node* node = producer_behind_reshapes(builder.graph(), output.id());
  const auto* softmax = node ? std::get_if<Softmax>(&node->primitive) : nullptr;
  if (!softmax) return {output};
  const Value x = builder.value(node->inputs[0]);
  const bool same_axis = x.shape()[static_cast<size_t>(softmax->axis)] == output.shape()[static_cast<size_t>(axis)] &&
                         elements_behind(x.shape(), softmax->axis) == elements_behind(output.shape(), axis);
  if (!same_axis) return {output};
  const char* name = softmax->log ? "LogSoftmax" : "Softmax";
  return {reshape(x, output.shape()), name};
}

Logits before_sigmoid(Builder& builder, const Value& output) {
  const Node* node = producer_behind_reshapes(builder.graph(), output.id());
  const auto* map = node ? std::get_if<Map>(&node->primitive) : nullptr;
  if (!map || map->expression.op() != ScalarOp::sigmoid) return {output};
  Values inputs;
  for (const ValueId v : node->inputs) inputs.push_back(builder.value(v));
  return {reshape(map_expression(map->expression.operands()[0], inputs), output.shape()), "Sigmoid"};
}

Value over_all(Reduction kind, const Value& x) {
  std::vector<int> axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  return reduce(kind, x, axes, Keep::no);
}

Value label_input(Builder& builder, const LossOptions& options, TensorType type) {
  std::string name = options.label;
  while (builder.graph().find_input(name)) name += "_";
  return builder.add_input(name, InputRole::label, std::move(type));
}

Value class_weights(Builder& builder, const LossOptions& options, const Value& logits, int axis) {
  const Dim classes = logits.shape()[static_cast<size_t>(axis)];
  const auto given = static_cast<int64_t>(options.class_weights.size());
  if (classes.is_constant() && classes.value() != given) {
    throw Error(ErrorKind::usage, "{} class weights for {} classes", given, classes.value());
  }
  const HostTensor weights = HostTensor::f32({given}, options.class_weights);
  return builder.constant(std::make_shared<const HostTensor>(weights.to(logits.dtype())));
}

Logits cross_entropy(Builder& builder, const Value& output, const LossOptions& options) {
  const int axis = class_axis(options, output.rank());
  Logits logits = before_softmax(builder, output, axis);
  Shape positions = output.shape();
  positions.erase(positions.begin() + axis);
  const Value label = label_input(builder, options, {DataType::i64, positions});

  Values inputs{logits.value, label};
  const bool weighted = !options.class_weights.empty();
  if (weighted) inputs.push_back(class_weights(builder, options, logits.value, axis));
  const Values loss = builder.emit(CrossEntropy{axis, LossReduction::mean, options.ignore_index, weighted}, inputs);
  builder.graph().loss = loss[0].id();

  const Value predicted =
      builder.emit_one(ArgReduce{Reduction::max, axis, /*keep=*/false, /*last=*/false}, {logits.value});
  const auto hit = [&](const Scalar& p, const Scalar& l) {
    const Scalar same = equal(p, l);
    if (!options.ignore_index) return cast(same, DataType::i64);
    return cast(same && !equal(l, static_cast<double>(*options.ignore_index)), DataType::i64);
  };
  builder.graph().correct = over_all(Reduction::sum, map(hit, predicted, label)).id();
  return logits;
}

// -y log s(x) - (1 - y) log(1 - s(x)) for the sigmoid s, written so that no large x overflows.
Logits binary_cross_entropy(Builder& builder, const Value& output, const LossOptions& options) {
  Logits logits = before_sigmoid(builder, output);
  const Value label = label_input(builder, options, output.type());
  const auto entropy = [](const Scalar& x, const Scalar& y) {
    return relu(x) - x * y + Scalar::make(ScalarOp::log1p, {exp(-abs(x))});
  };
  builder.graph().loss = over_all(Reduction::mean, map(entropy, logits.value, label)).id();
  if (output.rank() <= 1 || output.shape()[1] == Dim(1)) {
    // Right when both are on the same side.
    const auto hit = [](const Scalar& x, const Scalar& y) {
      return cast((x > 0 && y > 0.5) || (x <= 0 && y <= 0.5), DataType::i64);
    };
    builder.graph().correct = over_all(Reduction::sum, map(hit, logits.value, label)).id();
  }
  return logits;
}

void mean_squared_error(Builder& builder, const Value& output, const LossOptions& options) {
  const Value label = label_input(builder, options, output.type());
  const auto square = [](const Scalar& x, const Scalar& y) { return (x - y) * (x - y); };
  builder.graph().loss = over_all(Reduction::mean, map(square, output, label)).id();
}

}  // namespace

std::string attach_loss(Graph& graph, const LossOptions& options) {
  Builder builder(graph);
  builder.set_origin("loss");
  const Value output = builder.value(chosen_output(graph, options.output));
  Logits logits;
  switch (options.kind) {
    case LossKind::cross_entropy:
      logits = cross_entropy(builder, output, options);
      break;
    case LossKind::binary_cross_entropy:
      logits = binary_cross_entropy(builder, output, options);
      break;
    case LossKind::mean_squared_error:
      mean_squared_error(builder, output, options);
      break;
    case LossKind::output_mean:
      graph.loss = over_all(Reduction::mean, output).id();
      break;
    case LossKind::output_sum:
      graph.loss = over_all(Reduction::sum, output).id();
      break;
  }
  if (!logits.recognised) return "";
  return fmt::format("the final {} of the output is part of the loss and is not applied twice", logits.recognised);
}

std::vector<std::string> attach_losses(Graph& graph, const std::vector<LossOptions>& losses) {
  Builder builder(graph);
  builder.set_origin("loss");
  std::vector<std::string> notices;
  Value total;
  ValueId correct;
  for (const LossOptions& options : losses) {
    graph.correct = ValueId();
    const std::string notice = attach_loss(graph, options);
    if (!notice.empty()) notices.push_back(notice);
    if (!correct) correct = graph.correct;
    const Value loss = builder.value(graph.loss);
    const Value term = options.weight == 1 ? loss : loss * options.weight;
    total = total ? total + cast(term, total.dtype()) : term;
  }
  ensure(static_cast<bool>(total), "no loss to attach");
  graph.loss = total.id();
  graph.correct = correct;
  for (SegmentEnd& end : graph.segment_ends) {
    if (!end.rebuild) continue;
    end.rebuild = [rebuild = std::move(end.rebuild), losses](const std::vector<HostTensor>& sources) {
      auto other = std::make_shared<Graph>(*rebuild(sources));
      attach_losses(*other, losses);
      return other;
    };
  }
  return notices;
}

}  // namespace arbalest
