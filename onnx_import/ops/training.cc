// Optimisers of ai.onnx.preview.training as ordinary nodes: several tensors a node, all of one kind side by side.
// Learning rate R and update count T are scalars; T = 0 is the first step.
#include "graph/base/error.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

// Inputs R, T and then `kinds` groups of as many tensors: X1, X2, ..., G1, G2, ...
struct OptimiserInputs {
  Value rate, count;
  std::vector<Values> tensors;  // a tensor's own inputs, one of each kind
};

OptimiserInputs optimiser_inputs(OpContext& op, int kinds) {
  const int grouped = op.input_count() - 2;
  require(grouped > 0 && grouped % kinds == 0, "{} inputs, expected 2 and a multiple of {}", op.input_count(), kinds);
  OptimiserInputs in{reshape(op.input(0), {}), reshape(op.input(1), {}), {}};
  const int n = grouped / kinds;
  for (int i = 0; i < n; ++i) {
    Values own;
    for (int kind = 0; kind < kinds; ++kind) {
      own.push_back(op.input(2 + kind * n + i));
      require(own.back().shape() == own.front().shape(), "tensor {} has inputs of shapes {} and {}", i,
              to_string(own.front().shape()), to_string(own.back().shape()));
    }
    in.tensors.push_back(std::move(own));
  }
  for (Value* v : {&in.rate, &in.count}) *v = cast(*v, in.tensors[0][0].dtype());
  return in;
}

// The results of each tensor, regrouped by kind.
Values by_kind(const std::vector<Values>& results) {
  Values outputs;
  for (size_t kind = 0; kind < results[0].size(); ++kind)
    for (const Values& own : results) outputs.push_back(own[kind]);
  return outputs;
}

Value regularised(const Value& x, const Value& g, double norm) {
  return map([&](Scalar w, Scalar d) { return norm * w + d; }, x, g);
}

// Adam-1: inputs X, G, V, H; T = 0 is not corrected for the bias of the averages
Values adam(OpContext& op) {
  const double alpha = op.attribute("alpha", 0.9f), beta = op.attribute("beta", 0.999f);
  const double epsilon = op.attribute("epsilon", 1e-6f), norm = op.attribute("norm_coefficient", 0.0f);
  const double norm_after = op.attribute("norm_coefficient_post", 0.0f);
  const OptimiserInputs in = optimiser_inputs(op, 4);
  const auto corrected = [&](Scalar r, Scalar t) {
    const auto power = [&](double base) { return pow(Scalar::constant(base, t.type()), t); };
    const Scalar first = select(t > 0, 1 - power(alpha), 1.0);
    return select(t > 0, r * sqrt(1 - power(beta)) / first, r);
  };
  const Value rate = map(corrected, in.rate, in.count);
  std::vector<Values> results;
  for (const Values& t : in.tensors) {
    const Value g = regularised(t[0], t[1], norm);
    const Value v = map([&](Scalar old, Scalar d) { return alpha * old + (1 - alpha) * d; }, t[2], g);
    const Value h = map([&](Scalar old, Scalar d) { return beta * old + (1 - beta) * (d * d); }, t[3], g);
    const auto step = [&](Scalar x, Scalar r, Scalar m, Scalar s) {
      return (1 - norm_after) * (x - r * (m / (sqrt(s) + epsilon)));
    };
    results.push_back({map(step, t[0], rate, v, h), v, h});
  }
  return by_kind(results);
}

// Adagrad-1: inputs X, G, H
Values adagrad(OpContext& op) {
  const double decay = op.attribute("decay_factor", 0.0f), epsilon = op.attribute("epsilon", 1e-6f);
  const double norm = op.attribute("norm_coefficient", 0.0f);
  const OptimiserInputs in = optimiser_inputs(op, 3);
  const Value rate = map([&](Scalar r, Scalar t) { return r / (1 + t * decay); }, in.rate, in.count);
  std::vector<Values> results;
  for (const Values& t : in.tensors) {
    const Value g = regularised(t[0], t[1], norm);
    const Value h = map([](Scalar old, Scalar d) { return old + d * d; }, t[2], g);
    const auto step = [&](Scalar x, Scalar r, Scalar d, Scalar s) { return x - r * d / (sqrt(s) + epsilon); };
    results.push_back({map(step, t[0], rate, g, h), h});
  }
  return by_kind(results);
}

float required_float(OpContext& op, const char* name) {
  require(op.has_attribute(name), "attribute '{}' is missing", name);
  return op.attribute(name, 0.0f);
}

// Momentum-1: inputs X, G, V; in the first step beta does not count
Values momentum(OpContext& op) {
  const double alpha = required_float(op, "alpha"), beta = required_float(op, "beta");
  const double norm = required_float(op, "norm_coefficient");
  const std::string mode = op.attribute("mode", "");
  require(mode == "standard" || mode == "nesterov", "attribute 'mode' is '{}', expected 'standard' or 'nesterov'",
          mode);
  const OptimiserInputs in = optimiser_inputs(op, 3);
  const Value weight = map([&](Scalar t) { return select(t > 0, Scalar::constant(beta, t.type()), 1.0); }, in.count);
  std::vector<Values> results;
  for (const Values& t : in.tensors) {
    const Value g = regularised(t[0], t[1], norm);
    const Value v = map([&](Scalar old, Scalar d, Scalar b) { return alpha * old + b * d; }, t[2], g, weight);
    const auto step = [&](Scalar x, Scalar r, Scalar d, Scalar m) {
      return x - r * (mode == "nesterov" ? d + alpha * m : m);
    };
    results.push_back({map(step, t[0], in.rate, g, v), v});
  }
  return by_kind(results);
}

}  // namespace

void register_training(Translator& t);
void register_training(Translator& t) {
  const std::string domain = "ai.onnx.preview.training";
  t.add("Adam", {1}, adam, domain);
  t.add("Adagrad", {1}, adagrad, domain);
  t.add("Momentum", {1}, momentum, domain);
}

}  // namespace arbalest
