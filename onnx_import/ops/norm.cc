// Normalisation. BatchNormalization with batch statistics and LRN are primitives, the others compositions.
#include <algorithm>
#include <numeric>

#include "graph/base/error.h"
#include "onnx_import/op_context.h"
#include "onnx_import/standardise.h"

namespace arbalest {
namespace {

std::vector<int> axes_from(int first, int rank) {
  std::vector<int> axes(static_cast<size_t>(std::max(rank - first, 0)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

// [C] as [C, 1, ...], which broadcasts along axis 1 of x.
Value per_channel(const Value& v, const Value& x) {
  Shape shape(static_cast<size_t>(x.rank()) - 1, Dim(1));
  shape[0] = v.shape()[0];
  return reshape(v, shape);
}

void require_length(const Value& v, const char* what, const Dim& count, const Value& x) {
  require(v.rank() == 1 && (v.shape()[0] == count || !count.is_constant()),
          "the {} has shape {}, expected {} for an input of shape {}", what, to_string(v.shape()), to_string(count),
          to_string(x.shape()));
}

Value batch_axis_flattened(const Value& x) {
  Dim rest(1);
  for (int i = 1; i < x.rank(); ++i) rest = rest * x.shape()[static_cast<size_t>(i)];
  return reshape(x, {x.shape()[0], rest});
}
Value flattened(const Value& v) { return reshape(v, {v.shape().element_count()}); }

// ---- BatchNormalization-1, 6, 7, 9, 14, 15

struct BatchNormAttributes {
  float epsilon, momentum;
  bool spatial;        // statistics of a channel; else of every element but over the batch (up to version 7)
  bool file_trains;    // the node says that it uses the statistics of the batch
  bool keeps_running;  // the node gives the running statistics after the step
};

BatchNormAttributes batch_norm_attributes(OpContext& op) {
  BatchNormAttributes a;
  a.epsilon = op.attribute("epsilon", 1e-5f);
  a.momentum = op.attribute("momentum", 0.9f);
  a.spatial = op.version() > 7 || op.attribute("spatial", 1) != 0;
  const bool more_outputs = op.output_named(1) || op.output_named(2) || op.output_named(3) || op.output_named(4);
  if (op.version() >= 14) {
    a.file_trains = op.attribute("training_mode", 0) != 0;
  } else if (op.version() >= 7) {
    a.file_trains = more_outputs;
  } else {
    op.ignore_attribute("consumed_inputs");
    a.file_trains = op.attribute("is_test", 0) == 0;
  }
  a.keeps_running = !a.file_trains || more_outputs;
  return a;
}

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, as one multiplication and addition an element.
Value with_statistics(const Value& x, const Value& scale, const Value& bias, const Value& mean, const Value& variance,
                      float epsilon, bool spatial) {
  const Value factor = map([&](Scalar s, Scalar v) { return s / sqrt(v + epsilon); }, scale, variance);
  const Value offset = map([](Scalar b, Scalar m, Scalar f) { return b - m * f; }, bias, mean, factor);
  const auto placed = [&](const Value& v) { return spatial ? per_channel(v, x) : v; };
  const Value o = placed(offset), f = placed(factor);  // in this order, whatever the compiler
  return map([](Scalar e, Scalar a, Scalar b) { return e * a + b; }, x, f, o);
}

Values with_batch_statistics(OpContext& op, const BatchNormAttributes& a) {
  const Value x = op.input(0);
  const Value rows = a.spatial ? x : batch_axis_flattened(x);
  const Values y = op.builder().emit(BatchNorm{a.epsilon}, {rows, flattened(op.input(1)), flattened(op.input(2))});
  Values outputs{reshape(y[0], x.shape())};
  for (int i : {0, 1}) {
    const int statistic = 3 + i;
    op.has_input(statistic);
    if (!a.keeps_running) continue;
    const Value running = op.state_input(statistic);
    const Value batch = reshape(y[static_cast<size_t>(i) + 1], running.shape());
    const double m = a.momentum;
    const Value next = map([&](Scalar old, Scalar b) { return old * m + b * (1 - m); }, running, batch);
    op.update_state(statistic, next);
    outputs.push_back(next);
  }
  if (a.keeps_running) outputs.insert(outputs.end(), {y[1], y[2]});
  return outputs;
}

Values batch_normalization(OpContext& op) {
  const BatchNormAttributes a = batch_norm_attributes(op);
  const Value x = op.input(0);
  require(x.rank() >= 2, "the input has rank {} ({}), expected at least 2", x.rank(), to_string(x.shape()));
  constexpr const char* kNames[] = {"input", "scale", "bias", "mean", "variance"};
  for (int i = 1; i < 5; ++i) {
    require(op.has_input(i), "the {} (input {}) is missing", kNames[i], i);
    if (a.spatial) require_length(op.input(i), kNames[i], x.shape()[1], x);
  }
  const BatchNormPolicy policy = op.batch_norm();
  const bool file_statistics = policy == BatchNormPolicy::frozen || (policy == BatchNormPolicy::file && !a.file_trains);
  const bool only_batch_statistics = a.file_trains && !a.keeps_running && !file_statistics;
  if (only_batch_statistics || (op.training() && !file_statistics)) return with_batch_statistics(op, a);
  const Value mean = file_statistics ? op.input(3) : op.state_input(3);
  const Value variance = file_statistics ? op.input(4) : op.state_input(4);
  const Value y = with_statistics(x, op.input(1), op.input(2), mean, variance, a.epsilon, a.spatial);
  return {y, mean, variance, mean, variance};
}

// ---- over axes of one example

Value scaled_by_channel(const Value& y, const Value& scale, const Value& bias, const Value& x) {
  const Value offset = per_channel(bias, x), factor = per_channel(scale, x);  // in this order, whatever the compiler
  return scaled(y, factor, offset);
}

// InstanceNormalization-1, 6, 22
Values instance_normalization(OpContext& op) {
  op.ignore_attribute("consumed_inputs");
  const Value x = op.input(0), scale = op.input(1), bias = op.input(2);
  require(x.rank() >= 3, "the input has rank {} ({}), expected at least 3", x.rank(), to_string(x.shape()));
  require_length(scale, "scale", x.shape()[1], x);
  require_length(bias, "bias", x.shape()[1], x);
  const Value y = standardised(x, axes_from(2, x.rank()), op.attribute("epsilon", 1e-5f)).y;
  return {scaled_by_channel(y, scale, bias, x)};
}

// LayerNormalization-17; computed in float32 or wider whatever stash_type says
Values layer_normalization(OpContext& op) {
  const Value x = op.input(0), scale = op.input(1), bias = op.optional_input(2);
  op.ignore_attribute("stash_type");
  const int axis = normalise_axis(op.attribute("axis", -1), x.rank());
  const Standardised s = standardised(x, axes_from(axis, x.rank()), op.attribute("epsilon", 1e-5f));
  return {scaled(s.y, scale, bias), s.mean, s.inverse_deviation};
}

// GroupNormalization-18: scale and bias of a group; -21: of a channel
Values group_normalization(OpContext& op) {
  const Value x = op.input(0), scale = op.input(1), bias = op.input(2);
  op.ignore_attribute("stash_type");
  require(x.rank() >= 3, "the input has rank {} ({}), expected at least 3", x.rank(), to_string(x.shape()));
  const Dim groups = op.required_integer("num_groups");
  require(groups.value() >= 1, "attribute 'num_groups' is {}, expected at least 1", groups.value());
  const Dim& channels = x.shape()[1];
  require(!channels.is_constant() || channels.value() % groups.value() == 0,
          "{} channels cannot be divided into {} groups", to_string(channels), groups.value());
  const bool of_channel = op.version() >= 21;
  require_length(scale, "scale", of_channel ? channels : groups, x);
  require_length(bias, "bias", of_channel ? channels : groups, x);
  Shape grouped = x.shape();
  grouped[1] = floor_div(channels, groups);
  grouped.insert(grouped.begin() + 1, groups);
  const Value wide = reshape(x, grouped);
  const Value y = standardised(wide, axes_from(2, wide.rank()), op.attribute("epsilon", 1e-5f)).y;
  if (!of_channel) return {reshape(scaled_by_channel(y, scale, bias, wide), x.shape())};
  return {scaled_by_channel(reshape(y, x.shape()), scale, bias, x)};
}

// RMSNormalization-23, and SimplifiedLayerNormalization as optimisers write it into the default domain
Values rms_normalization(OpContext& op) {
  const Value x = op.input(0);
  op.ignore_attribute("stash_type");
  const float epsilon = op.attribute("epsilon", 1e-5f);
  const std::vector<int> axes = axes_from(normalise_axis(op.attribute("axis", -1), x.rank()), x.rank());
  const Standardised s = root_mean_square_normalised(x, axes, epsilon);
  return {s.y * op.input(1), s.inverse_deviation};
}

// LpNormalization-1, 22; a norm of 0 gives 0
Values lp_normalization(OpContext& op) {
  const Value x = op.input(0);
  const int axis = normalise_axis(op.attribute("axis", -1), x.rank());
  const int64_t p = op.attribute("p", 2);
  require(p == 1 || p == 2, "attribute 'p' is {}, expected 1 or 2", p);
  const Value power = map([&](Scalar e) { return p == 1 ? abs(e) : e * e; }, x);
  const Value sum = reduce(Reduction::sum, power, {axis}, Keep::yes);
  return {map([&](Scalar e, Scalar s) { return select(s > 0, e / (p == 1 ? s : sqrt(s)), 0.0); }, x, sum)};
}

// MeanVarianceNormalization-9, 13
Values mean_variance_normalization(OpContext& op) {
  const Value x = op.input(0);
  std::vector<int> axes;
  for (const int64_t a : op.attribute("axes", std::vector<int64_t>{0, 2, 3}))
    axes.push_back(normalise_axis(a, x.rank()));
  const Value centred = x - reduce(Reduction::mean, x, axes, Keep::yes);
  const Value variance = reduce(Reduction::mean, centred * centred, axes, Keep::yes);
  return {map([](Scalar c, Scalar v) { return c / (sqrt(v) + 1e-9); }, centred, variance)};
}

// LRN-1, 13
Values lrn(OpContext& op) {
  Lrn p;
  p.size = op.required_integer("size");
  p.alpha = op.attribute("alpha", p.alpha);
  p.beta = op.attribute("beta", p.beta);
  p.bias = op.attribute("bias", p.bias);
  require(p.size >= 1, "attribute 'size' is {}, expected at least 1", p.size);
  return op.builder().emit(p, {op.input(0)});
}

}  // namespace

void register_norm(Translator& t);
void register_norm(Translator& t) {
  t.add("BatchNormalization", {1, 6, 7, 9, 14, 15}, batch_normalization);
  t.add("InstanceNormalization", {1, 6, 22}, instance_normalization);
  t.add("LayerNormalization", {1, 17}, layer_normalization);
  t.add("GroupNormalization", {18, 21}, group_normalization);
  t.add("RMSNormalization", {23}, rms_normalization);
  t.add("SimplifiedLayerNormalization", {1}, rms_normalization);
  t.add("LpNormalization", {1, 22}, lp_normalization);
  t.add("MeanVarianceNormalization", {9, 13}, mean_variance_normalization);
  t.add("LRN", {1, 13}, lrn);
}

}  // namespace arbalest
