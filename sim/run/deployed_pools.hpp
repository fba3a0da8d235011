// All pools of a scenario and what stands before them: one fleet of whole replicas, or a fleet that
// prefills and one that decodes with a handoff between. Internal to sim/run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/run/deployment.hpp"
#include "sim/run/fleet_control.hpp"
#include "sim/run/replica_gauges.hpp"
#include "sim/serving/fleet.hpp"
#include "sim/serving/handoff.hpp"

namespace foretoken {

class DeployedPools {
 public:
  /// Checks everything that can fail before time 0 and throws ConfigError with all of it.
  DeployedPools(const Scenario& scenario, const Catalogs& catalogs);

  /// Makes the replicas and returns whom requests are handed to. The arguments must outlive them.
  Pool& start(Platform& platform, Timeline& timeline, RequestListener& client,
              StepObserver* observer);

  /// Checks that nobody holds KV blocks, once every request has ended.
  void check_empty() const;
  /// Failures and scaling, after start() and before the run.
  void arm();
  /// nullptr where every replica is up from the beginning to the end.
  [[nodiscard]] const FleetUsage* usage(std::size_t pool) const { return control_->usage(pool); }

  [[nodiscard]] const std::vector<PoolSpec>& specs() const { return specs_; }
  [[nodiscard]] const DeployedEngine& engine(std::size_t pool) const { return *engines_[pool]; }
  /// Of every replica, pool by pool.
  [[nodiscard]] std::vector<ReplicaGauges> gauges() const;
  /// Of all replicas that compute prompts.
  [[nodiscard]] PrefixTotals prefixes() const;
  [[nodiscard]] PriceTotals totals() const;

 private:
  [[nodiscard]] std::unique_ptr<Router> make_router(const VariantChoice& choice,
                                                    const std::string& table_name) const;
  [[nodiscard]] std::vector<std::vector<KvPath>> kv_paths() const;
  /// Makes the replicas of the pools with this role and adds them to the fleet.
  void start_fleet(PoolRole role, Fleet& fleet, Platform& platform, Timeline& timeline,
                   StepObserver* observer);

  const Scenario& scenario_;
  const Catalogs& catalogs_;
  std::vector<PoolSpec> specs_;
  std::vector<std::unique_ptr<DeployedEngine>> engines_;  // by pool
  std::uint32_t replicas_ = 0;
  std::unique_ptr<Handoff> handoff_;
  std::vector<std::unique_ptr<Fleet>> fleets_;
  std::vector<ControlledPool> parts_;  // of fleets, by pool
  std::optional<LinkParties> parties_;
  std::optional<FleetControl> control_;
};

}  // namespace foretoken
