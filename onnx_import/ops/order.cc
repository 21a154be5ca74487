// Operators that sort or run along an axis.
#include "graph/base/error.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

// TopK-1: k is an attribute; -10: an input; -11, 24: the least ones too. Results are sorted whether asked or not.
Values top_k(OpContext& op) {
  const Value x = op.input(0);
  TopK p;
  p.axis = normalise_axis(op.attribute("axis", -1), x.rank());
  if (op.version() < 10) {
    p.k = Dim(op.required_integer("k"));
  } else {
    const std::vector<Dim> k = op.contents(1);
    require(k.size() == 1, "K has {} elements, expected 1", k.size());
    p.k = k[0];
  }
  if (op.version() >= 11) {
    p.largest = op.attribute("largest", 1) != 0;
    op.ignore_attribute("sorted");
  }
  return op.builder().emit(p, {x});
}

// CumSum-11, 14
Values cum_sum(OpContext& op) {
  const Value x = op.input(0);
  const std::vector<int64_t> axis = op.constant_integers(1);
  require(axis.size() == 1, "the axis has {} elements, expected 1", axis.size());
  const bool exclusive = op.attribute("exclusive", 0) != 0, reverse = op.attribute("reverse", 0) != 0;
  return op.builder().emit(CumSum{normalise_axis(axis[0], x.rank()), exclusive, reverse}, {x});
}

}  // namespace

void register_order(Translator& t);
void register_order(Translator& t) {
  t.add("TopK", {1, 10, 11, 24}, top_k);
  t.add("CumSum", {11, 14}, cum_sum);
}

}  // namespace arbalest
