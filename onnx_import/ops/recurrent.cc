// LSTM, GRU and RNN, unrolled: one product projects the inputs of all time steps, then one product a step carries the
// state on. The reverse direction runs through the steps from the last to the first; steps beyond the end of a shorter
// sequence leave its state as it is and give zeros.
#include <algorithm>
#include <cctype>

#include "graph/base/error.h"
#include "onnx_import/export_batch.h"

namespace arbalest {
namespace {

using Activation = std::function<Scalar(const Scalar&)>;

// ---- activations

// The values that a list of alphas or betas gives to the activations that take one, in order.
class Parameters {
 public:
  explicit Parameters(std::vector<float> values) : values_(std::move(values)) {}
  double next(double otherwise) { return used_ < values_.size() ? values_[used_++] : otherwise; }

 private:
  std::vector<float> values_;
  size_t used_ = 0;
};

Scalar at_least(const Scalar& x, double low) { return select(x < low, low, x); }
Scalar between(const Scalar& x, double low, double high) { return select(x > high, high, at_least(x, low)); }

Activation activation_of(const std::string& given, Parameters& alphas, Parameters& betas) {
  std::string name = given;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name == "sigmoid") return [](const Scalar& x) { return sigmoid(x); };
  if (name == "tanh") return [](const Scalar& x) { return tanh(x); };
  if (name == "relu") return [](const Scalar& x) { return relu(x); };
  if (name == "softsign") return [](const Scalar& x) { return x / (1 + abs(x)); };
  if (name == "softplus") {
    return [](const Scalar& x) { return at_least(x, 0) + Scalar::make(ScalarOp::log1p, {exp(-abs(x))}); };
  }
  if (name == "leakyrelu") {
    return [a = alphas.next(0.01)](const Scalar& x) { return select(x < 0, a * x, x); };
  }
  if (name == "thresholdedrelu") {
    return [a = alphas.next(1)](const Scalar& x) { return select(x > a, x, 0); };
  }
  if (name == "elu") {
    return [a = alphas.next(1)](const Scalar& x) { return select(x < 0, a * Scalar::make(ScalarOp::expm1, {x}), x); };
  }
  if (name == "affine") {
    return [a = alphas.next(1), b = betas.next(0)](const Scalar& x) { return a * x + b; };
  }
  if (name == "scaledtanh") {
    return [a = alphas.next(1), b = betas.next(1)](const Scalar& x) { return a * tanh(b * x); };
  }
  if (name == "hardsigmoid") {
    return [a = alphas.next(0.2), b = betas.next(0.5)](const Scalar& x) { return between(a * x + b, 0, 1); };
  }
  throw Error(ErrorKind::model, "attribute 'activations' names '{}', which is none of the operator's", given);
}

// ---- what the three operators share

struct Layer {
  Layer(OpContext& op, int gates) : op(op), gates(gates) {}

  OpContext& op;
  int gates;  // stacked in W, R and B
  bool batch_first = false;
  bool reverse = false;  // the only direction runs backwards
  int directions = 1;
  int64_t steps = 0;
  Dim batch = 0, hidden = 0;
  Value x;                              // steps x batch x inputs
  Value lengths;                        // batch x 1; none: all sequences have all steps
  std::vector<Activation> activations;  // the same number for each direction
  std::optional<double> clip;

  bool runs_backwards(int direction) const { return reverse || direction == 1; }
  const Activation& activation(int direction, int i) const {
    return activations.at(activations.size() / static_cast<size_t>(directions) * static_cast<size_t>(direction) +
                          static_cast<size_t>(i));
  }
};

void read_direction(Layer& layer) {
  const std::string direction = layer.op.attribute("direction", "forward");
  require(direction == "forward" || direction == "reverse" || direction == "bidirectional",
          "attribute 'direction' is '{}', expected 'forward', 'reverse' or 'bidirectional'", direction);
  layer.reverse = direction == "reverse";
  layer.directions = direction == "bidirectional" ? 2 : 1;
}

void read_activations(Layer& layer, const std::vector<std::string>& by_default) {
  std::vector<std::string> names = layer.op.string_list("activations");
  const size_t count = by_default.size() * static_cast<size_t>(layer.directions);
  while (!layer.op.has_attribute("activations") && names.size() < count) {
    names.insert(names.end(), by_default.begin(), by_default.end());
  }
  require(names.size() == count, "attribute 'activations' has {} names, expected {}", names.size(), count);
  Parameters alphas(layer.op.float_list("activation_alpha")), betas(layer.op.float_list("activation_beta"));
  for (const std::string& name : names) layer.activations.push_back(activation_of(name, alphas, betas));
  if (layer.op.has_attribute("clip")) layer.clip = layer.op.attribute("clip", 0.0f);
  require(!layer.clip || *layer.clip > 0, "attribute 'clip' is {}, expected more than 0", layer.clip.value_or(0));
}

void read_input(Layer& layer) {
  const Value x = layer.op.input(0);
  require(x.rank() == 3, "the input has shape {}, expected three axes", to_string(x.shape()));
  layer.x = layer.batch_first ? transpose(x, {1, 0, 2}) : x;
  layer.steps = unrolled_steps(layer.x.shape()[0]);
  layer.batch = layer.x.shape()[1];
}

bool are_all(const TensorPtr& lengths, int64_t steps) {
  if (!lengths) return false;
  const HostTensor wide = lengths->to(DataType::i64);
  return std::all_of(wide.as<int64_t>().begin(), wide.as<int64_t>().end(), [&](int64_t n) { return n >= steps; });
}

void read_lengths(Layer& layer) {
  if (!layer.op.has_input(4)) return;
  Value lengths = layer.op.input(4);
  require(lengths.rank() == 1 && is_integer(lengths.dtype()),
          "the sequence lengths are {}, expected one integer a sequence", to_string(lengths.type()));
  if (are_all(layer.op.constant_tensor(4), layer.steps)) return;
  lengths = at_batch(lengths, 0, layer.batch, layer.op.export_batch());
  require(lengths.shape()[0] == layer.batch, "there are {} sequence lengths for {} sequences",
          to_string(lengths.shape()[0]), to_string(layer.batch));
  layer.lengths = reshape(cast(lengths, DataType::i64), {layer.batch, Dim(1)});
}

Layer read_layer(OpContext& op, int gates, const std::vector<std::string>& activations) {
  Layer layer(op, gates);
  if (op.version() < 7) op.ignore_attribute("output_sequence");
  if (op.version() >= 14) layer.batch_first = op.attribute("layout", 0) != 0;
  const Shape& recurrent = op.input(2).shape();
  require(recurrent.rank() == 3, "input 2 has shape {}, expected three axes", to_string(recurrent));
  layer.hidden = recurrent[2];
  const Dim hidden(op.attribute("hidden_size", layer.hidden.is_constant() ? layer.hidden.value() : 0));
  require(hidden == layer.hidden, "attribute 'hidden_size' is {}, but input 2 has shape {}", to_string(hidden),
          to_string(recurrent));
  read_direction(layer);
  read_activations(layer, activations);
  read_input(layer);
  read_lengths(layer);
  return layer;
}

// The part of a stacked input that belongs to a direction; none where an input that may be left out is missing.
Value of_direction(const Layer& layer, int input, int direction, const Shape& shape) {
  if (input > 2 && !layer.op.has_input(input)) return {};
  const Value all = layer.op.input(input);
  Shape expected{Dim(layer.directions)};
  expected.insert(expected.end(), shape.begin(), shape.end());
  require(all.shape() == expected, "input {} has shape {}, expected {}", input, to_string(all.shape()),
          to_string(expected));
  return reshape(slice(all, 0, direction, 1), shape);
}

// Batch x hidden; zeros where the input is missing.
Value initial_state(const Layer& layer, int input, int direction) {
  const Shape shape{layer.batch, layer.hidden};
  if (!layer.op.has_input(input)) return expand(layer.op.builder().scalar(0, layer.x.dtype()), shape);
  const int batch_axis = layer.batch_first ? 0 : 1;
  const Value all = at_batch(layer.op.input(input), batch_axis, layer.batch, layer.op.export_batch());
  const Shape expected = layer.batch_first ? Shape{layer.batch, Dim(layer.directions), layer.hidden}
                                           : Shape{Dim(layer.directions), layer.batch, layer.hidden};
  require(all.shape() == expected, "input {} has shape {}, expected {}", input, to_string(all.shape()),
          to_string(expected));
  return reshape(slice(all, 1 - batch_axis, direction, 1), shape);
}

struct Weights {
  Value input, recurrent;            // gates * hidden x inputs, gates * hidden x hidden
  Value input_bias, recurrent_bias;  // gates * hidden; none: zero
};

Weights weights_of(const Layer& layer, int direction) {
  const Dim rows = Dim(layer.gates) * layer.hidden;
  Weights w;
  w.input = of_direction(layer, 1, direction, {rows, layer.x.shape()[2]});
  w.recurrent = of_direction(layer, 2, direction, {rows, layer.hidden});
  if (const Value both = of_direction(layer, 3, direction, {rows * 2})) {
    w.input_bias = slice(both, 0, 0, rows);
    w.recurrent_bias = slice(both, 0, rows, rows);
  }
  return w;
}

Value product(const Value& a, const Value& weights, const Value& bias) {
  if (!bias) return matmul(a, weights, false, true);
  return a.builder().emit_one(MatMul{false, true, /*bias=*/true}, {a, weights, bias});
}

Value step_of(const Value& sequence, int64_t t) {
  const Shape& s = sequence.shape();
  return reshape(slice(sequence, 0, t, 1), {s[1], s[2]});
}

// Columns first, ..., first + count - 1 of the stacked gates.
Value gates_of(const Layer& layer, const Value& stacked, int first, int count = 1) {
  return slice(stacked, 1, Dim(first) * layer.hidden, Dim(count) * layer.hidden);
}

Value activated(const Layer& layer, const Activation& f, const Value& x) {
  return map([&](const Scalar& s) { return f(layer.clip ? between(s, -*layer.clip, *layer.clip) : s); }, x);
}

// What the steps of one direction carry on. An RNN and a GRU have no cell.
struct State {
  Value hidden, cell;
};

Value choose(const Value& condition, const Value& a, const Value& b) {
  return map([](const Scalar& c, const Scalar& x, const Scalar& y) { return select(c, x, y); }, condition, a, b);
}

struct Run {
  Values outputs;  // of each step, in the order of time
  State last;
};

// Runs the steps: cell(t, state) -> state.
template <class Cell>
Run run_steps(const Layer& layer, int direction, State state, Cell&& cell) {
  Run run;
  run.outputs.resize(static_cast<size_t>(layer.steps));
  for (int64_t k = 0; k < layer.steps; ++k) {
    const int64_t t = layer.runs_backwards(direction) ? layer.steps - 1 - k : k;
    const State next = cell(t, state);
    Value& output = run.outputs[static_cast<size_t>(t)];
    if (layer.lengths) {
      const Value runs = map([t](const Scalar& n) { return n > static_cast<double>(t); }, layer.lengths);
      output = map([](const Scalar& c, const Scalar& h) { return select(c, h, 0); }, runs, next.hidden);
      state.hidden = choose(runs, next.hidden, state.hidden);
      if (state.cell) state.cell = choose(runs, next.cell, state.cell);
    } else {
      output = next.hidden;
      state = next;
    }
  }
  run.last = state;
  return run;
}

// Directions x batch x hidden, or batch first.
Value stacked(const Layer& layer, const Values& states) {
  Values parts;
  const Shape one =
      layer.batch_first ? Shape{layer.batch, Dim(1), layer.hidden} : Shape{Dim(1), layer.batch, layer.hidden};
  for (const Value& v : states) parts.push_back(reshape(v, one));
  return concat(parts, layer.batch_first ? 1 : 0);
}

// Steps x directions x batch x hidden, or batch x steps x directions x hidden.
Value all_outputs(const Layer& layer, const std::vector<Run>& runs) {
  if (layer.steps == 0) {
    const Shape empty = layer.batch_first ? Shape{layer.batch, Dim(0), Dim(layer.directions), layer.hidden}
                                          : Shape{Dim(0), Dim(layer.directions), layer.batch, layer.hidden};
    return expand(layer.op.builder().scalar(0, layer.x.dtype()), empty);
  }
  Values directions;
  for (const Run& run : runs) {
    Values steps;
    for (const Value& h : run.outputs) steps.push_back(reshape(h, {Dim(1), Dim(1), layer.batch, layer.hidden}));
    directions.push_back(concat(steps, 0));
  }
  const Value y = concat(directions, 1);
  return layer.batch_first ? transpose(y, {2, 0, 1, 3}) : y;
}

Values results(const Layer& layer, const std::vector<Run>& runs) {
  Values hidden, cells;
  for (const Run& run : runs) {
    hidden.push_back(run.last.hidden);
    if (run.last.cell) cells.push_back(run.last.cell);
  }
  Values outputs(cells.empty() ? 2 : 3);
  if (layer.op.output_used(0)) outputs[0] = all_outputs(layer, runs);
  if (layer.op.output_used(1)) outputs[1] = stacked(layer, hidden);
  if (!cells.empty() && layer.op.output_used(2)) outputs[2] = stacked(layer, cells);
  return outputs;
}

template <class RunDirection>
Values run_all(const Layer& layer, RunDirection&& run_direction) {
  std::vector<Run> runs;
  for (int d = 0; d < layer.directions; ++d) runs.push_back(run_direction(d));
  return results(layer, runs);
}

// ---- the operators

// RNN-1, 7, 14, 22: h' = f(x W + h R + b)
Values rnn(OpContext& op) {
  const Layer layer = read_layer(op, 1, {"Tanh"});
  return run_all(layer, [&](int d) {
    const Weights w = weights_of(layer, d);
    const Value bias = w.input_bias ? w.input_bias + w.recurrent_bias : Value();
    const Value projected = product(layer.x, w.input, bias);
    return run_steps(layer, d, {initial_state(layer, 5, d), {}}, [&](int64_t t, const State& s) {
      const Value sum = step_of(projected, t) + matmul(s.hidden, w.recurrent, false, true);
      return State{activated(layer, layer.activation(d, 0), sum), {}};
    });
  });
}

// GRU-1, 3, 7, 14, 22: gates z (update), r (reset), h: h' = (1 - z) g(candidate) + z h. The reset gate is applied to
// the state before its product, or, with linear_before_reset, to the product.
Values gru(OpContext& op) {
  const Layer layer = read_layer(op, 3, {"Sigmoid", "Tanh"});
  const bool reset_product = op.version() >= 3 && op.attribute("linear_before_reset", 0) != 0;
  return run_all(layer, [&](int d) {
    const Weights w = weights_of(layer, d);
    const Value bias = w.input_bias && !reset_product ? w.input_bias + w.recurrent_bias : w.input_bias;
    const Value projected = product(layer.x, w.input, bias);
    const Value of_gates = slice(w.recurrent, 0, 0, layer.hidden * 2);
    const Value of_candidate = slice(w.recurrent, 0, layer.hidden * 2, layer.hidden);
    return run_steps(layer, d, {initial_state(layer, 5, d), {}}, [&](int64_t t, const State& s) {
      const Value x = step_of(projected, t);
      const Value carried =
          reset_product ? product(s.hidden, w.recurrent, w.recurrent_bias) : matmul(s.hidden, of_gates, false, true);
      const Value gates =
          activated(layer, layer.activation(d, 0), gates_of(layer, x, 0, 2) + gates_of(layer, carried, 0, 2));
      const Value z = gates_of(layer, gates, 0), r = gates_of(layer, gates, 1);
      const Value memory =
          reset_product ? r * gates_of(layer, carried, 2) : matmul(r * s.hidden, of_candidate, false, true);
      const Value candidate = activated(layer, layer.activation(d, 1), gates_of(layer, x, 2) + memory);
      return State{map([](const Scalar& z, const Scalar& n, const Scalar& h) { return n + z * (h - n); }, z, candidate,
                       s.hidden),
                   {}};
    });
  });
}

// LSTM-1, 7, 14, 22: gates i (input), o (output), f (forget), c (cell): c' = f c + i g(c gate), h' = o h(c'). Peepholes
// add a multiple of the cell to i and f, and of the new cell to o.
Values lstm(OpContext& op) {
  const Layer layer = read_layer(op, 4, {"Sigmoid", "Tanh", "Tanh"});
  const bool input_forget = op.attribute("input_forget", 0) != 0;
  return run_all(layer, [&](int d) {
    const Weights w = weights_of(layer, d);
    const Value bias = w.input_bias ? w.input_bias + w.recurrent_bias : Value();
    const Value projected = product(layer.x, w.input, bias);
    const Value peepholes = of_direction(layer, 7, d, {layer.hidden * 3});
    const auto peeping = [&](const Value& gate, const Value& cell, int i) {
      return peepholes ? gate + slice(peepholes, 0, Dim(i) * layer.hidden, layer.hidden) * cell : gate;
    };
    const auto gate = [&](int i, const Value& x) { return activated(layer, layer.activation(d, i), x); };
    const State start{initial_state(layer, 5, d), initial_state(layer, 6, d)};
    return run_steps(layer, d, start, [&](int64_t t, const State& s) {
      const Value sum = step_of(projected, t) + matmul(s.hidden, w.recurrent, false, true);
      const Value input = gate(0, peeping(gates_of(layer, sum, 0), s.cell, 0));
      const Value forget = input_forget ? map([](const Scalar& i) { return 1 - i; }, input)
                                        : gate(0, peeping(gates_of(layer, sum, 2), s.cell, 2));
      const Value cell = forget * s.cell + input * gate(1, gates_of(layer, sum, 3));
      const Value output = gate(0, peeping(gates_of(layer, sum, 1), cell, 1));
      return State{output * map(layer.activation(d, 2), cell), cell};
    });
  });
}

}  // namespace

void register_recurrent(Translator& t);
void register_recurrent(Translator& t) {
  t.add("RNN", {1, 7, 14, 22}, rnn);
  t.add("GRU", {1, 3, 7, 14, 22}, gru);
  t.add("LSTM", {1, 7, 14, 22}, lstm);
}

}  // namespace arbalest
