// All pools of a scenario and what stands before them: for each model one fleet of whole replicas,
// or a fleet that prefills and one that decodes with a handoff between. Internal to sim/run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/run/deployment.hpp"
#include "sim/run/fleet_control.hpp"
#include "sim/run/replica_gauges.hpp"
#include "sim/serving/encode_handoff.hpp"
#include "sim/serving/fleet.hpp"
#include "sim/serving/handoff.hpp"
#include "sim/serving/model_pools.hpp"

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
  /// Of prompts where they were computed, those that decode replicas computed included.
  [[nodiscard]] PrefixCounts prefixes() const;
  [[nodiscard]] PriceTotals totals() const;
  /// Of encoded images or clips, between replicas.
  [[nodiscard]] Bytes media_sent(Medium medium) const;

 private:
  [[nodiscard]] std::unique_ptr<Router> make_router(const VariantChoice& choice,
                                                    const std::string& table_name) const;
  [[nodiscard]] std::vector<std::vector<KvPath>> kv_paths(int model) const;
  /// What the replicas of a model are started with.
  struct Start {
    Platform& platform;
    Timeline& timeline;
    StepObserver* observer;
  };
  /// The pools of a model, and whom its requests are handed to.
  Pool& start_model(int model, const Start& start, RequestListener& client);
  /// Those that serve the language model.
  Pool& start_serving(int model, const Start& start, RequestListener& client);
  Fleet& add_fleet(const VariantChoice& router, const std::string& table_name, Platform& platform,
                   RequestListener& client);
  [[nodiscard]] MemberSettings settings_of(std::size_t pool);
  /// Makes the replicas of the model's pools with this role and adds them to the fleet.
  void start_fleet(int model, PoolRole role, Fleet& fleet, Handoff* handoff, const Start& start);

  const Scenario& scenario_;
  const Catalogs& catalogs_;
  std::vector<PoolSpec> specs_;
  std::vector<std::unique_ptr<DeployedEngine>> engines_;  // by pool
  std::uint32_t replicas_ = 0;
  GpuShares shares_;
  std::vector<std::unique_ptr<Handoff>> handoffs_;
  std::vector<std::unique_ptr<EncodeHandoff>> encoders_;
  EncodeHandoff* encoder_ = nullptr;  // of the model that is started; null: it has none of its own
  std::optional<ModelPools> models_;  // where there are several
  std::vector<std::unique_ptr<Fleet>> fleets_;
  std::vector<ControlledPool> parts_;  // of fleets, by pool
  std::optional<LinkParties> parties_;
  std::optional<FleetControl> control_;
};

}  // namespace foretoken
