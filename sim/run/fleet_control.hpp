// What changes the number of replicas that serve, built from a Scenario: start-up times, failures
// of GPUs and nodes by the replicas on them, an autoscaler for each pool that has one, and one
// above the pools of a model where they are scaled together. Internal to sim/run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/prices/placement.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/autoscaler.hpp"
#include "sim/serving/failure_schedule.hpp"
#include "sim/serving/memory_plan.hpp"
#include "sim/serving/variant_controller.hpp"

namespace foretoken {

/// Of every replica of a pool. What it takes to start one: a fixed time, and the weights of the
/// GPUs that it has on one node over the rate at which they come there, from disks, a peer or the
/// host.
MemberSettings member_settings(const Scenario& pool, const MemoryPlan& memory);

/// What replica number `index` of a pool is at time 0: as many as the run begins with are up, or
/// start.
ReplicaState first_state(const Scenario& pool, std::size_t index);

/// The replicas of a pool: where they are, and where each stands.
struct ControlledPool {
  const PoolSpec* spec = nullptr;
  Fleet* fleet = nullptr;
  FleetPart part;
  const std::vector<ReplicaPlacement>* placements = nullptr;
};

class FleetControl {
 public:
  /// The fleets have their replicas. References must outlive it.
  FleetControl(const Scenario& scenario, Platform& platform, Timeline& timeline,
               const std::vector<ControlledPool>& pools);
  /// Before the run.
  void arm();
  /// nullptr where every replica is up from the beginning to the end.
  [[nodiscard]] const FleetUsage* usage(std::size_t pool) const {
    return usages_.empty() ? nullptr : &usages_[pool];
  }

 private:
  std::vector<FleetUsage> usages_;  // by pool; fleets know their addresses
  std::optional<FailureSchedule> failures_;
  std::vector<std::unique_ptr<Autoscaler>> autoscalers_;
  std::vector<std::unique_ptr<VariantController>> controllers_;  // by model, of policy wva
};

}  // namespace foretoken
