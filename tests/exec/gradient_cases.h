// The table of cases that gradient_check.cc runs: every primitive on small inputs.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace arbalest {

enum class OperandKind {
  parameter,  // float64, its gradient is checked
  constant,   // float64 without a gradient
  index,      // int64
};

struct GradientOperand {
  Dims dims;
  std::vector<double> values = {};  // empty: numbers drawn from [least, least + 2]
  OperandKind kind = OperandKind::parameter;
  double least = -1;
};

struct GradientCase {
  std::string name;
  Primitive primitive;
  std::vector<GradientOperand> operands;
};

const std::vector<GradientCase>& gradient_cases();

}  // namespace arbalest
