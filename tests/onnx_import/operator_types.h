// Whether an operator computes in the element types that docs/operators.md gives it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/onnx_import/operator_check.h"

namespace arbalest {

// Domain and name of an operator -> each type tried -> why it failed; empty: it did not.
using TriedTypes = std::map<std::pair<std::string, std::string>, std::map<DataType, std::string>>;
const TriedTypes& tried_types();
// The types of an operator that no attempt has been successful in.
std::vector<DataType> types_left(const std::string& domain, const std::string& name);

// Computes the operator in those of its types in which no row before this one did. Random operands and float64
// constants have the type, others stay what they are.
void try_types(const OperatorCase& c);

}  // namespace arbalest
