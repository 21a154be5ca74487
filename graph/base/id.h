// Strong indices: a ValueId cannot be passed where a NodeId is meant.
#pragma once

#include <cstdint>
#include <functional>

namespace arbalest {

template <class Tag>
struct Id {
  int32_t index = -1;

  constexpr Id() = default;
  constexpr explicit Id(size_t i) : index(static_cast<int32_t>(i)) {}
  constexpr explicit operator bool() const { return index >= 0; }
  constexpr size_t at() const { return static_cast<size_t>(index); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace arbalest

template <class Tag>
struct std::hash<arbalest::Id<Tag>> {
  size_t operator()(arbalest::Id<Tag> id) const noexcept { return std::hash<int32_t>{}(id.index); }
};
