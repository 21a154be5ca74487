// A cache of keys or values that grows by a few positions at a time.
#include "graph/base/error.h"
#include "graph/element_index.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

// TensorScatter-24: the update lies in the cache from a position on that each batch has; in circular mode it goes on at
// the beginning.
Values tensor_scatter(OpContext& op) {
  const Value cache = op.input(0), update = op.input(1);
  const int axis = normalise_axis(op.attribute("axis", -2), cache.rank());
  require(update.rank() == cache.rank() && axis > 0, "the update has shape {}, the cache {}, the axis is {}",
          to_string(update.shape()), to_string(cache.shape()), axis);
  const std::string mode = op.attribute("mode", "linear");
  require(mode == "linear" || mode == "circular", "attribute 'mode' is '{}', expected 'linear' or 'circular'", mode);
  const Dim &count = update.shape()[static_cast<size_t>(axis)], &size = cache.shape()[static_cast<size_t>(axis)];
  Shape along_batch(update.shape().size(), Dim(1));
  along_batch[0] = update.shape()[0];
  Value at = position_numbers(op.builder(), count, axis, update.rank());
  if (op.has_input(2)) at = at + reshape(cast(op.input(2), DataType::i64), along_batch);
  if (mode == "circular") {
    const Value length = op.builder().integers({size}, {});
    at = map([](Scalar i, Scalar n) { return Scalar::make(ScalarOp::mod, {i, n}); }, at, length);
  }
  return {scatter_elements(ScatterReduction::set, cache, axis, expand(at, update.shape()), update)};
}

}  // namespace

void register_tensor_scatter(Translator& t);
void register_tensor_scatter(Translator& t) { t.add("TensorScatter", {24}, tensor_scatter); }

}  // namespace arbalest
