// Scalar expressions over integral values that may depend on symbols: what evaluate_contents() does for a Map.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/dim.h"
#include "graph/scalar.h"

namespace arbalest {

class SymbolicExpression {
 public:
  explicit SymbolicExpression(const Scalar& expression);

  // The value, or none where it is not integral or depends on the symbols in a way that Dim cannot express.
  std::optional<Dim> evaluate(std::span<const Dim> inputs) const;

 private:
  struct Step {
    const Scalar* expression;
    std::vector<size_t> operands;  // earlier steps
  };
  Scalar root_;  // keeps the nodes of the steps alive
  std::vector<Step> steps_;
};

// None where it depends on the symbols which of the two is the lesser.
std::optional<Dim> lesser(const Dim& a, const Dim& b);
std::optional<Dim> greater(const Dim& a, const Dim& b);
// Whether an element of the type can hold the value exactly, as far as the symbols tell.
bool fits(const Dim& value, DataType type);
// Integral, and so small that float32 arithmetic on it is exact.
bool is_exact_integer(double value);

}  // namespace arbalest
