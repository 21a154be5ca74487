#include "graph/primitive.h"

namespace arbalest {

Primitive::Primitive(const Primitive& other) = default;
Primitive::Primitive(Primitive&& other) noexcept = default;
Primitive& Primitive::operator=(const Primitive& other) = default;
Primitive& Primitive::operator=(Primitive&& other) noexcept = default;
Primitive::~Primitive() = default;

std::vector<TensorType> infer(const Primitive& primitive, Types inputs) {
  return std::visit([&](const auto& p) { return infer(p, inputs); }, primitive);
}

const char* name_of(const Primitive& primitive) {
  return std::visit([](const auto& p) { return p.kName; }, primitive);
}

}  // namespace arbalest
