// Reductions over axes.
#include <algorithm>
#include <numeric>

#include "graph/base/error.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

// What a node reduces: noop_with_empty_axes leaves the axes empty.
struct Request {
  Value x;
  std::vector<int> axes;
  Keep keep;
};

// Axes are an attribute before version `input_since` and an input from then on.
Request request_of(OpContext& op, int input_since) {
  const Value x = op.input(0);
  const auto given = op.integers_attribute_or_input("axes", 1, input_since);
  const Keep keep = op.attribute("keepdims", 1) != 0 ? Keep::yes : Keep::no;
  const bool noop = op.version() >= input_since && op.attribute("noop_with_empty_axes", 0) != 0;
  std::vector<int> axes;
  for (const int64_t a : given.value_or(std::vector<int64_t>{})) axes.push_back(normalise_axis(a, x.rank()));
  if (axes.empty() && !noop) {
    axes.resize(static_cast<size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::sort(axes.begin(), axes.end());
  require(std::adjacent_find(axes.begin(), axes.end()) == axes.end(), "axes [{}] name one twice",
          fmt::join(axes, ", "));
  return {x, axes, keep};
}

constexpr int kAxesInputSince = 18;
constexpr int kSumAxesInputSince = 13;

Translation reduction(Reduction kind, int input_since) {
  return [=](OpContext& op) {
    const Request r = request_of(op, input_since);
    if (r.x.dtype() == DataType::boolean && (kind == Reduction::max || kind == Reduction::min)) {  // from version 20 on
      return Values{cast(reduce(kind, cast(r.x, DataType::u8), r.axes, r.keep), DataType::boolean)};
    }
    return Values{reduce(kind, r.x, r.axes, r.keep)};
  };
}

Value sum(const Value& x, const Request& r) { return reduce(Reduction::sum, x, r.axes, r.keep); }

// ReduceL1, L2, LogSum, SumSquare-1, 11, 13, 18
Values l1(OpContext& op) {
  const Request r = request_of(op, kAxesInputSince);
  return {sum(map([](Scalar x) { return abs(x); }, r.x), r)};
}
Values sum_square(OpContext& op) {
  const Request r = request_of(op, kAxesInputSince);
  return {sum(r.x * r.x, r)};
}
Values l2(OpContext& op) {
  const Request r = request_of(op, kAxesInputSince);
  const Value squares = sum(r.x * r.x, r);
  if (is_float(squares.dtype())) return {sqrt(squares)};
  return {cast(sqrt(cast(squares, DataType::f64)), squares.dtype())};
}
Values log_sum(OpContext& op) {
  const Request r = request_of(op, kAxesInputSince);
  return {log(sum(r.x, r))};
}

Shape without(const Shape& shape, const std::vector<int>& axes) {
  Shape kept;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) kept.push_back(shape[static_cast<size_t>(i)]);
  }
  return kept;
}

// ReduceLogSumExp-1, 11, 13, 18, 28: the maximum taken out, so that nothing overflows
Values log_sum_exp(OpContext& op) {
  const Request r = request_of(op, kAxesInputSince);
  if (r.axes.empty()) return {r.x};
  const Value greatest = reduce(Reduction::max, r.x, r.axes, Keep::yes);
  const auto finite_or_zero = [](Scalar m) { return select(Scalar::make(ScalarOp::is_inf, {m}), 0.0, m); };
  const Value shift = stop_gradient(map(finite_or_zero, greatest));
  const Value y = log(reduce(Reduction::sum, exp(r.x - shift), r.axes, Keep::yes)) + shift;
  return {r.keep == Keep::yes ? y : reshape(y, without(y.shape(), r.axes))};
}

// ArgMax, ArgMin-1, 11, 12, 13
Translation arg_reduction(Reduction kind) {
  return [=](OpContext& op) {
    const Value x = op.input(0);
    const int axis = normalise_axis(op.attribute("axis", 0), x.rank());
    const bool keep = op.attribute("keepdims", 1) != 0;
    const bool last = op.version() >= 12 && op.attribute("select_last_index", 0) != 0;
    return op.builder().emit(ArgReduce{kind, axis, keep, last}, {x});
  };
}

}  // namespace

void register_reduce(Translator& t);
void register_reduce(Translator& t) {
  t.add("ReduceSum", {1, 11, 13}, reduction(Reduction::sum, kSumAxesInputSince));
  t.add("ReduceMean", {1, 11, 13, 18}, reduction(Reduction::mean, kAxesInputSince));
  t.add("ReduceMax", {1, 11, 12, 13, 18, 20}, reduction(Reduction::max, kAxesInputSince));
  t.add("ReduceMin", {1, 11, 12, 13, 18, 20}, reduction(Reduction::min, kAxesInputSince));
  t.add("ReduceProd", {1, 11, 13, 18}, reduction(Reduction::prod, kAxesInputSince));
  t.add("ReduceL1", {1, 11, 13, 18}, l1);
  t.add("ReduceL2", {1, 11, 13, 18}, l2);
  t.add("ReduceSumSquare", {1, 11, 13, 18}, sum_square);
  t.add("ReduceLogSum", {1, 11, 13, 18, 28}, log_sum);
  t.add("ReduceLogSumExp", {1, 11, 13, 18, 28}, log_sum_exp);
  t.add("ArgMax", {1, 11, 12, 13}, arg_reduction(Reduction::max));
  t.add("ArgMin", {1, 11, 12, 13}, arg_reduction(Reduction::min));
}

}  // namespace arbalest
