// Who may be on which links at the same time, from the deployment alone: stages with their
// collectives, sends from stage to stage, KV caches between replicas and hosts. What nobody else
// can meet takes its price; what somebody can is simulated (`[cluster] network = "auto"`).
#pragma once

#include <set>
#include <span>
#include <vector>

#include "hardware/wiring.hpp"
#include "sim/prices/placement.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

class LinkParties {
 public:
  /// `placements` are the pools' replicas. `scenario` must outlive it.
  LinkParties(const Scenario& scenario, const std::vector<PoolSpec>& pools,
              const std::vector<const std::vector<ReplicaPlacement>*>& placements);

  /// Whether the collectives of a stage are to be simulated though no other GPU uses its links:
  /// `tensor` GPUs a group. Never where a group straddles nodes, which is simulated anyway.
  [[nodiscard]] bool are_collectives_met(std::span<const GpuId> stage, std::size_t tensor) const;
  /// The same for what a stage sends to the next.
  [[nodiscard]] bool is_send_met(std::span<const GpuId> from, std::span<const GpuId> to) const;

 private:
  using Links = std::set<LinkIndex>;
  [[nodiscard]] Links links_of_stage(std::span<const GpuId> stage, std::size_t tensor) const;
  [[nodiscard]] Links links_of_send(std::span<const GpuId> from, std::span<const GpuId> to) const;
  void add_party(const Links& links);
  void add_replica(const Scenario& pool, const ReplicaPlacement& replica);
  void add_handovers(const std::vector<GpuId>& from, const std::vector<GpuId>& to);
  [[nodiscard]] bool is_met(const Links& links) const;

  const Scenario& scenario_;
  Wiring wiring_;
  std::vector<std::uint32_t> parties_;  // by link
};

}  // namespace foretoken
