// Dropout and random tensors. Numbers come from the counter of RandomUniform; the seeds of the file are not used.
#include <cmath>
#include <numbers>

#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

DataType float_type(const Value& like) { return like.dtype() == DataType::f64 ? DataType::f64 : DataType::f32; }

// A node draws at most two tensors.
Value uniform(OpContext& op, const Shape& shape, DataType type, int draw = 0) {
  return op.builder().emit_one(RandomUniform{shape, type, op.random_stream() * 2 + draw}, {});
}

// Box and Muller 1958; the logarithm's argument is in (0, 1].
Value normal(OpContext& op, const Shape& shape, DataType type) {
  return map([](Scalar u,
                Scalar v) { return sqrt(-2 * log(1 - u)) * Scalar::make(ScalarOp::cos, {2 * std::numbers::pi * v}); },
             uniform(op, shape, type, 0), uniform(op, shape, type, 1));
}

// Dropout-1, 6, 7, 10: the ratio is an attribute; -12, 13, 22: an input. Whether anything drops is the user's choice,
// not the file's (is_test, training_mode).
Values dropout(OpContext& op) {
  const Value x = op.input(0);
  double ratio = 0.5;
  if (op.version() < 12) {
    ratio = op.attribute("ratio", 0.5f);
    op.ignore_attribute("is_test");
    op.ignore_attribute("consumed_inputs");
  } else {
    op.ignore_attribute("seed");
    op.has_input(2);
    if (op.has_input(1)) {
      const auto known = op.constant_number(1);
      if (!known && op.dropout()) throw Error(ErrorKind::unsupported, "the ratio is computed from the data");
      ratio = known.value_or(0);
    }
  }
  require(0 <= ratio && ratio <= 1, "the ratio is {}, expected 0 to 1", ratio);
  const DataType mask_type = op.version() >= 10 ? DataType::boolean : x.dtype();
  if (!op.dropout() || ratio == 0) {
    if (!op.output_used(1)) return {x};
    return {x, expand(op.builder().scalar(1, mask_type), x.shape())};
  }
  const Value draw = uniform(op, x.shape(), float_type(x));
  const Value kept = map([&](Scalar u) { return Scalar::constant(ratio, u.type()) <= u; }, draw);
  const double scale = ratio < 1 ? 1 / (1 - ratio) : 0;
  return {map([&](Scalar e, Scalar k) { return select(k, e * scale, 0.0); }, x, kept), cast(kept, mask_type)};
}

DataType dtype_attribute(OpContext& op, DataType otherwise) {
  const auto given = static_cast<int32_t>(op.attribute("dtype", int64_t{onnx_data_type(otherwise)}));
  const auto type = data_type_of_onnx(given);
  if (!type || !is_float(*type)) {
    throw Error(ErrorKind::unsupported, "attribute 'dtype' is {}, expected a float type", onnx_type_name(given));
  }
  return *type == DataType::f64 ? DataType::f64 : DataType::f32;
}

Shape shape_attribute(OpContext& op) { return Shape(op.required_integers("shape")); }

Value scaled_uniform(OpContext& op, const Shape& shape, DataType type) {
  const float low = op.attribute("low", 0.0f), high = op.attribute("high", 1.0f);
  op.ignore_attribute("seed");
  return map([&](Scalar u) { return low + (high - low) * u; }, uniform(op, shape, type));
}

Value scaled_normal(OpContext& op, const Shape& shape, DataType type) {
  const float mean = op.attribute("mean", 0.0f), scale = op.attribute("scale", 1.0f);
  op.ignore_attribute("seed");
  return map([&](Scalar z) { return mean + scale * z; }, normal(op, shape, type));
}

// RandomUniform, RandomNormal-1, 22 and their Like forms
Values random_uniform(OpContext& op) {
  return {scaled_uniform(op, shape_attribute(op), dtype_attribute(op, DataType::f32))};
}
Values random_normal(OpContext& op) {
  return {scaled_normal(op, shape_attribute(op), dtype_attribute(op, DataType::f32))};
}
Values random_uniform_like(OpContext& op) {
  return {scaled_uniform(op, op.input(0).shape(), dtype_attribute(op, float_type(op.input(0))))};
}
Values random_normal_like(OpContext& op) {
  return {scaled_normal(op, op.input(0).shape(), dtype_attribute(op, float_type(op.input(0))))};
}

// Bernoulli-15, 22
Values bernoulli(OpContext& op) {
  const Value x = op.input(0);
  op.ignore_attribute("seed");
  const auto given = static_cast<int32_t>(op.attribute("dtype", int64_t{onnx_data_type(x.dtype())}));
  const auto type = data_type_of_onnx(given);
  if (!type) throw Error(ErrorKind::unsupported, "attribute 'dtype': type {}", onnx_type_name(given));
  const Value draw = uniform(op, x.shape(), float_type(x));
  const bool half = *type == DataType::f16 || *type == DataType::bf16;
  return {cast(map([](Scalar p, Scalar u) { return u < p; }, x, draw), half ? DataType::f32 : *type)};
}

// Multinomial-7, 22: the greatest of the logarithms of the probabilities, each with a number of Gumbel's distribution
// added
Values multinomial(OpContext& op) {
  const Value x = op.input(0);
  op.ignore_attribute("seed");
  const int64_t samples = op.attribute("sample_size", 1);
  require(samples >= 0 && x.rank() == 2, "{} samples of an input of shape {}", samples, to_string(x.shape()));
  const auto given = static_cast<int32_t>(op.attribute("dtype", int64_t{onnx_data_type(DataType::i32)}));
  const auto type = data_type_of_onnx(given);
  require(type == DataType::i32 || type == DataType::i64, "attribute 'dtype' is {}, expected int32 or int64",
          onnx_type_name(given));
  const Dim &rows = x.shape()[0], &classes = x.shape()[1];
  const Value draw = uniform(op, {rows, samples, classes}, float_type(x));
  const auto with_noise = [](Scalar p, Scalar u) { return p - log(-log(u + 1e-20)); };
  const Value noisy = map(with_noise, reshape(cast(x, float_type(x)), {rows, 1, classes}), draw);
  return {cast(op.builder().emit_one(ArgReduce{Reduction::max, 2, false, false}, {noisy}), *type)};
}

}  // namespace

void register_random(Translator& t);
void register_random(Translator& t) {
  t.add("Dropout", {1, 6, 7, 10, 12, 13, 22}, dropout);
  t.add("RandomUniform", {1, 22}, random_uniform);
  t.add("RandomNormal", {1, 22}, random_normal);
  t.add("RandomUniformLike", {1, 22}, random_uniform_like);
  t.add("RandomNormalLike", {1, 22}, random_normal_like);
  t.add("Multinomial", {7, 22}, multinomial);
  t.add("Bernoulli", {15, 22}, bernoulli);
}

}  // namespace arbalest
