// A cache of keys or values that grows by a few positions at a time.
#include <numeric>

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
  if (!count.is_constant() || !size.is_constant())
    throw Error(ErrorKind::unsupported, "axis {} has the open size {} or {}", axis, to_string(count), to_string(size));
  HostTensor numbers(DataType::i64, {count.value()});
  std::iota(numbers.as<int64_t>().begin(), numbers.as<int64_t>().end(), 0);
  Shape along_axis(update.shape().size(), Dim(1)), along_batch = along_axis;
  along_axis[static_cast<size_t>(axis)] = count;
  along_batch[0] = update.shape()[0];
  Value at = reshape(op.builder().constant(std::make_shared<const HostTensor>(std::move(numbers))), along_axis);
  if (op.has_input(2)) at = at + reshape(cast(op.input(2), DataType::i64), along_batch);
  if (mode == "circular") {
    const Scalar length = Scalar::constant(size.value(), DataType::i64);
    at = map([&](Scalar i) { return Scalar::make(ScalarOp::mod, {i, length}); }, at);
  }
  return {scatter_elements(ScatterReduction::set, cache, axis, expand(at, update.shape()), update)};
}

}  // namespace

void register_tensor_scatter(Translator& t);
void register_tensor_scatter(Translator& t) { t.add("TensorScatter", {24}, tensor_scatter); }

}  // namespace arbalest
