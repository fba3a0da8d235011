// A [[failures]] table: what of the hardware or of its network fails in a run, when, and for how
// long.
#pragma once

#include <optional>
#include <string>

#include "sim/base/enum_names.hpp"
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"

namespace foretoken {

enum class FailingPart { gpu, node, replica };
template <>
struct EnumNames<FailingPart> {
  static constexpr auto names = std::to_array<std::string_view>({"gpu", "node", "replica"});
};

/// A replica fails with any of its GPUs, whichever pool it belongs to.
struct Failure {
  Seconds at;
  FailingPart part = FailingPart::gpu;
  int index = 0;          // GPUs and nodes count over the cluster, replicas in their pool
  std::string pool = {};  // of a replica, where there are pools
  std::optional<Seconds> recovers_after = std::nullopt;  // nullopt = never
  SourcePosition position = {};                          // of the part
};

/// A link, or both directions of a network card, at a part of its rate. A card may be down
/// altogether: others of its node take over. For links that is refused, since whom their traffic
/// would go round is not known.
struct LinkFailure {
  Seconds at;
  std::string link = {};  // "node 0 gpu 3 out"; empty: `nic`
  int nic = 0;            // counts over the cluster
  double rate = 1;        // what is left of the full rate, from 0 and below 1
  std::optional<Seconds> recovers_after = std::nullopt;  // nullopt = never
  SourcePosition position = {};                          // of the link

  [[nodiscard]] bool is_down() const { return link.empty() && rate <= 0; }
};

}  // namespace foretoken
