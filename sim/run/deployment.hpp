// The engine side of a pool of equal replicas, built from its Scenario: memory plan, predictor,
// stage prices shared by equal stages, and the replicas with their schedulers. Internal to sim/run.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "sim/prices/placement.hpp"
#include "sim/run/catalogs.hpp"
#include "sim/run/draft_deployment.hpp"
#include "sim/run/encoder_deployment.hpp"
#include "sim/run/kv_stores.hpp"
#include "sim/run/link_parties.hpp"
#include "sim/serving/memory_plan.hpp"
#include "sim/serving/replica.hpp"

namespace foretoken {

/// What the replicas of a pool are among those of all.
struct PoolPart {
  std::size_t pool = 0;
  ReplicaId first;  // the others follow
  KvPort* port = nullptr;
  MediaPort* media = nullptr;
  const LinkParties* parties = nullptr;  // of all pools
};

class DeployedEngine {
 public:
  /// Checks everything that can fail before time 0 and throws ConfigError with all of it. `pool`
  /// must outlive the engine; `placements` are its replicas'.
  DeployedEngine(const PoolSpec& pool, const Catalogs& catalogs,
                 std::vector<ReplicaPlacement> placements);

  /// Makes the replicas. The arguments must outlive them.
  void start_replicas(const PoolPart& part, Platform& platform, Timeline& timeline,
                      RequestListener& listener, StepObserver* observer);

  [[nodiscard]] const MemoryPlan& memory() const { return memory_; }
  /// Of a GPU that holds experts and nothing else; nullopt: there are none.
  [[nodiscard]] const std::optional<MemoryPlan>& expert_memory() const { return expert_memory_; }
  /// Of one attention rank.
  [[nodiscard]] std::int64_t kv_blocks() const { return kv_blocks_; }
  /// Of each replica.
  [[nodiscard]] const std::vector<ReplicaPlacement>& placements() const { return placements_; }
  [[nodiscard]] std::vector<std::unique_ptr<Replica>>& replicas() { return replicas_; }
  /// Longest prompt + output that is served.
  [[nodiscard]] std::int64_t context_max() const;
  /// Of all replicas.
  [[nodiscard]] PrefixTotals prefixes() const;
  [[nodiscard]] HostTotals host() const;
  [[nodiscard]] const KvStores& kv_stores() const { return *stores_; }
  /// Replicas use the other pool's store where they can, from the first start on.
  void join_store(DeployedEngine& other) { stores_->join(*other.stores_); }
  [[nodiscard]] AdapterTotals adapters() const;
  [[nodiscard]] EncoderTotals encoder() const;
  /// Of all replicas; empty without speculation.
  [[nodiscard]] SpeculationTotals speculation() const;
  /// GPU time by kernel family (communication and host time included), and launches by origin.
  [[nodiscard]] PriceTotals totals() const;
  /// A step of one sequence's next token on the first stage, waiting for the CPU included; zero
  /// before there are replicas.
  [[nodiscard]] Seconds smallest_step() const;

 private:
  void check_traffic_fits() const;
  void plan_kv(const MemoryLimits& limits);
  void plan_experts(const MemoryLimits& limits);
  void check_all_reduce() const;
  void check_host_room() const;
  [[nodiscard]] HostKv host_kv() const;
  StagePricer& pricer_for(int stage, const StageLinks& links);
  /// A replica's schedulers with empty caches.
  [[nodiscard]] AttentionRanks start_engines();
  DraftPricer* draft_pricer_for(const StageLinks& links);
  EncoderPricer* encoder_pricer_for(const GroupLinks& links);
  ReplicaConfig replica_config(ReplicaId id, const ReplicaPlacement& placement,
                               const LinkParties& parties, Platform& platform);

  PoolRole role_;
  int model_;  // Request::model of those it serves
  const Scenario& scenario_;
  const Catalogs& catalogs_;
  CommSettings comm_;
  std::unique_ptr<MemoPredictor> predictor_;
  std::vector<ReplicaPlacement> placements_;
  std::unique_ptr<MemoPredictor> experts_predictor_;  // of another kind of GPUs
  MemoryPlan memory_;
  std::optional<MemoryPlan> expert_memory_;
  std::int64_t kv_blocks_ = 0;
  struct PricerEntry {
    int stage;
    StageLinks links;
    std::unique_ptr<StagePricer> pricer;
  };
  std::vector<PricerEntry> pricers_;
  struct DraftEntry {
    StageLinks links;
    std::unique_ptr<DraftPricer> pricer;  // null: drafts run on no GPU
  };
  std::vector<DraftEntry> draft_pricers_;
  struct EncoderEntry {
    GroupLinks links;
    std::unique_ptr<EncoderPricer> pricer;
  };
  std::vector<EncoderEntry> encoder_pricers_;
  std::optional<KvStores> stores_;  // once the memory is planned
  std::vector<std::unique_ptr<Replica>> replicas_;
};

}  // namespace foretoken
