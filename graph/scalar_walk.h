// Walks over scalar expressions in time linear in the distinct nodes, without recursion: expressions are DAGs, so a
// walk that visits each operand of each node may take exponential time, and chains may be deeper than the call stack.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "graph/scalar.h"

namespace arbalest {

// Every node (by identity) below and including the root, operands before their users. The pointers live as long as
// root.
std::vector<const Scalar*> post_order(const Scalar& root);

// One value for each node of an expression, by identity.
template <class T>
using ScalarMap = std::unordered_map<const void*, T>;

// Numbers subexpressions so that structurally equal ones share a number, and operands come before their users.
class ScalarNumbering {
 public:
  int number(const Scalar& e);
  size_t count() const { return representatives_.size(); }
  // Lives as long as the numbered expressions.
  const Scalar& at(int number) const { return *representatives_[static_cast<size_t>(number)]; }
  // Of a subexpression that has been numbered.
  int find(const Scalar& e) const { return by_identity_.at(e.identity()); }

 private:
  struct Key {
    ScalarOp op;
    DataType type;
    uint64_t payload;  // input index, or the bits of a constant
    std::array<int, 3> operands;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const;
  };

  std::unordered_map<Key, int, KeyHash> by_structure_;
  ScalarMap<int> by_identity_;
  std::vector<const Scalar*> representatives_;
};

}  // namespace arbalest
