// What can be said of any primitive from its fields(): text, equality, hash, and its symbols.
//
// Two primitives are equal when they are of the same kind and all attributes are; tensors compare by type, sizes and
// bits, floating point attributes by their bits.
#pragma once

#include <string>
#include <vector>

#include "graph/primitive.h"

namespace arbalest {

std::string fields_text(const Primitive& primitive);  // "{strides [1, 1], groups 1}"; "" without attributes
bool equal(const Primitive& a, const Primitive& b);
size_t hash(const Primitive& primitive);
// Symbols without a binding stay. A ShapeTensor without symbols left becomes a Constant.
void bind(Primitive& primitive, const Bindings& bindings);
void add_symbols(const Primitive& primitive, std::vector<std::string>& names);

// The tensor of a ShapeTensor whose values are all known.
TensorPtr tensor_of(const ShapeTensor& p);

}  // namespace arbalest
