// Typed identifiers: a ReplicaId cannot be passed where a RequestId belongs.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace foretoken {

template <class Kind>
struct Id {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(Id a, Id b) = default;
};

using RequestId = Id<struct RequestKind>;
using ReplicaId = Id<struct ReplicaKind>;
/// Index of a GPU in the whole cluster, node by node.
using GpuId = Id<struct GpuKind>;

}  // namespace foretoken

template <class Kind>
struct std::hash<foretoken::Id<Kind>> {
  std::size_t operator()(foretoken::Id<Kind> id) const noexcept { return id.value; }
};
