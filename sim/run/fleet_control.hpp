// What changes the number of replicas that serve, built from a Scenario: start-up times, failures
// of GPUs and nodes by the replicas on them, the autoscaler. Internal to sim/run.
#pragma once

#include <optional>

#include "sim/run/placement.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/autoscaler.hpp"
#include "sim/serving/failure_schedule.hpp"
#include "sim/serving/memory_plan.hpp"

namespace foretoken {

FleetSettings fleet_settings(const Scenario& scenario, const MemoryPlan& memory);

/// What replica number `index` is at time 0: as many as the run begins with are up, or start.
ReplicaState first_state(const Scenario& scenario, std::size_t index);

/// From the decision to start a replica to its first request: the fixed time, and the weights of
/// the GPUs that it has on one node over the rate at which a node reads them.
Seconds startup_time(const Scenario& scenario, const MemoryPlan& memory);

/// The replicas, of those at `placements`, that have a part in what fails.
std::vector<std::size_t> replicas_hit(const Failure& failure, int gpus_per_node,
                                      const std::vector<ReplicaPlacement>& placements);

class FleetControl {
 public:
  /// `fleet` has its replicas, which stand at `placements`. References must outlive it.
  FleetControl(const Scenario& scenario, Platform& platform, Fleet& fleet, Timeline& timeline,
               const std::vector<ReplicaPlacement>& placements);
  /// Before the run.
  void arm();
  /// nullptr where every replica is up from the beginning to the end.
  [[nodiscard]] const FleetUsage* usage() const { return usage_ ? &*usage_ : nullptr; }

 private:
  std::optional<FleetUsage> usage_;
  std::optional<FailureSchedule> failures_;
  std::optional<Autoscaler> autoscaler_;
};

}  // namespace foretoken
