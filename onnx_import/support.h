// What the program says of its operators: the table of docs/operators.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace arbalest {

// Element types of an operator's data (its other inputs are indices, shapes, bounds, ... as ONNX has them).
enum class OperatorTypes : uint8_t {
  floats,   // float16, bfloat16, float32, float64
  numbers,  // these and all integers
  any,      // these and bool
  integers,
  booleans,
};
std::string_view name_of(OperatorTypes types);

struct OperatorSupport {
  std::string domain;  // "" for the default domain
  std::string name;
  std::vector<int> versions;
  OperatorTypes types = OperatorTypes::floats;
  bool has_gradient = true;
};

// All operators, by domain and name.
std::vector<OperatorSupport> supported_operators();

}  // namespace arbalest
