#include "graph/primitive.h"

namespace arbalest {

std::vector<TensorType> infer(const Primitive& primitive, Types inputs) {
  return std::visit([&](const auto& p) { return infer(p, inputs); }, primitive);
}

const char* name_of(const Primitive& primitive) {
  return std::visit([](const auto& p) { return p.kName; }, primitive);
}

}  // namespace arbalest
