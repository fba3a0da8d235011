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

/// Links at a part of their rate: one, both directions of a network card, or all ports of a node's
/// NVSwitch. At a rate of 0 they are down, and what begins then goes another way: over the node's
/// other cards, over other wires or PCIe. Links between nodes cannot be down, since whom their
/// traffic would go round is not known.
struct LinkFailure {
  Seconds at;
  std::string link = {};  // "node 0 gpu 3 out"; empty: `nvswitch` or `nic`
  int nvswitch = -1;      // node whose switch it is; -1: `nic`
  int nic = 0;            // counts over the cluster
  double rate = 1;        // what is left of the full rate, from 0 and below 1
  std::optional<Seconds> recovers_after = std::nullopt;  // nullopt = never
  SourcePosition position = {};                          // of what fails

  [[nodiscard]] bool is_down() const { return rate <= 0; }
  [[nodiscard]] bool is_nic() const { return link.empty() && nvswitch < 0; }
  /// Whether it is down at `date` on.
  [[nodiscard]] bool is_down_at(Seconds date) const {
    return is_down() && at <= date && !(recovers_after && at + *recovers_after <= date);
  }
};

}  // namespace foretoken
