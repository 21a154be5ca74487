#include "graph/scalar_walk.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

namespace arbalest {

namespace {

// Most expressions have a few nodes: comparing with each is faster than hashing.
class NodeSet {
 public:
  // Whether it was not there yet.
  bool insert(const void* node) {
    if (!many_.empty()) return many_.insert(node).second;
    if (std::find(few_.begin(), few_.end(), node) != few_.end()) return false;
    few_.push_back(node);
    if (few_.size() == kFew) many_.insert(few_.begin(), few_.end());
    return true;
  }

 private:
  static constexpr size_t kFew = 24;
  std::vector<const void*> few_;
  std::unordered_set<const void*> many_;
};

}  // namespace

std::vector<const Scalar*> post_order(const Scalar& root) {
  std::vector<const Scalar*> order;
  NodeSet seen;
  seen.insert(root.identity());
  std::vector<std::pair<const Scalar*, size_t>> path = {{&root, 0}};  // node, operands already entered
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next == node->operands().size()) {
      order.push_back(node);
      path.pop_back();
      continue;
    }
    const Scalar& operand = node->operands()[next++];
    if (seen.insert(operand.identity())) path.emplace_back(&operand, 0);
  }
  return order;
}

size_t ScalarNumbering::KeyHash::operator()(const Key& k) const {
  uint64_t h = k.payload * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(k.op) * 64 + static_cast<uint64_t>(k.type);
  for (const int operand : k.operands) h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u + static_cast<uint64_t>(operand);
  return h ^ (h >> 32);
}

int ScalarNumbering::number(const Scalar& e) {
  for (const Scalar* node : post_order(e)) {
    const auto [slot, is_new] = by_identity_.try_emplace(node->identity(), 0);
    if (!is_new) continue;
    Key key{node->op(), node->type(), 0, {-1, -1, -1}};
    if (node->op() == ScalarOp::input) key.payload = static_cast<uint64_t>(node->input_index());
    if (node->is_constant())
      key.payload = is_float(node->type()) ? std::bit_cast<uint64_t>(node->value())
                                           : static_cast<uint64_t>(node->integer_value());
    for (size_t i = 0; i < node->operands().size(); ++i) key.operands[i] = find(node->operands()[i]);
    slot->second = by_structure_.try_emplace(key, static_cast<int>(count())).first->second;
    if (slot->second == static_cast<int>(count())) representatives_.push_back(node);
  }
  return find(e);
}

}  // namespace arbalest
