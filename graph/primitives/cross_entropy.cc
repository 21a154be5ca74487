#include "graph/primitives/cross_entropy.h"

#include "graph/differentiate.h"
#include "graph/primitives/checks.h"

namespace arbalest {

namespace {

// Checks what forward and backward have in common and gives the type of the loss.
template <class P>
TensorType loss_type(const P& p, const TensorType& logits, const TensorType& labels, const TensorType* weights) {
  expect_float(logits, "the input");
  expect_axis(p.axis, logits.rank());
  expect_index(labels, "the label");
  Shape positions = logits.shape;
  positions.erase(positions.begin() + p.axis);
  expect_shape(labels.shape, positions, "the label");
  if (weights) {
    expect_dtype(*weights, logits.dtype, "the class weights");
    expect_shape(weights->shape, {logits.shape[static_cast<size_t>(p.axis)]}, "the class weights");
  }
  return {logits.dtype, p.reduction == LossReduction::none ? positions : Shape{}};
}

}  // namespace

std::vector<TensorType> infer(const CrossEntropy& p, Types in) {
  expect_inputs(in, p.weights ? 3 : 2, p.kName);
  return {loss_type(p, in[0], in[1], p.weights ? &in[2] : nullptr), in[0]};
}

std::vector<TensorType> infer(const CrossEntropyBackward& p, Types in) {
  expect_inputs(in, p.weights ? 4 : 3, p.kName);
  const TensorType loss = loss_type(p, in[0], in[1], p.weights ? &in[3] : nullptr);
  expect_dtype(in[2], loss.dtype, "the loss's gradient");
  expect_shape(in[2].shape, loss.shape, "the loss's gradient");
  return {in[0]};
}

Values gradient(const CrossEntropy& p, GradientContext& g) {
  if (g.has_output_gradient(1)) throw Error(ErrorKind::unsupported, "the probabilities have no gradient");
  if (p.weights && g.needs(2)) throw Error(ErrorKind::unsupported, "the class weights have no gradient");
  Values inputs{g.output(1), g.input(1), g.output_gradient(0)};
  if (p.weights) inputs.push_back(g.input(2));
  return {g.emit_one(CrossEntropyBackward{p.axis, p.reduction, p.ignore_index, p.weights}, inputs)};
}

}  // namespace arbalest
