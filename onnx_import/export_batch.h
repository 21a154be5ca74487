// Shapes that hold the batch which a model was exported with.
//
// Tracing exporters write the batch of the example as a number into Reshape, Expand and ConstantOfShape. These
// functions put the symbol of the free batch in its place: only where the value depends on the batch, and so that the
// export batch gives the shape that the file has.
#pragma once

#include <optional>
#include <string>

#include "onnx_import/op_context.h"

namespace arbalest {

bool depends_on_batch(const Dim& d, const ExportBatch& batch);
bool depends_on_batch(const Shape& shape, const ExportBatch& batch);

// The target of a Reshape, zeros already copied from the input, at most one entry -1: what it is for any batch. None
// where the target fits as it stands, or where nothing can be said.
std::optional<Shape> generalise_reshape(const Shape& input, const Shape& target, const ExportBatch& batch);

// The target of an Expand.
std::optional<Shape> generalise_expand(const Shape& input, const Shape& target, const ExportBatch& batch);

// The value with the export batch at an axis where the others have the symbol, made to have it too. None where it
// cannot be done.
std::optional<Value> generalise_axis(const Value& value, int axis, const Dim& wanted, const ExportBatch& batch);
// The same; the value as it is where it has the wanted size already or cannot have it.
Value at_batch(const Value& value, int axis, const Dim& wanted, const ExportBatch& batch);

}  // namespace arbalest
