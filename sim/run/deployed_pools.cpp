#include "sim/run/deployed_pools.hpp"

#include "sim/scenario/variant.hpp"

namespace foretoken {
namespace {

void add(PriceTotals& totals, const PriceTotals& more) {
  for (const auto& [family, time] : more.time_by) {
    const auto known =
        std::ranges::find(totals.time_by, family, &std::pair<std::string_view, Seconds>::first);
    if (known == totals.time_by.end()) {
      totals.time_by.emplace_back(family, time);
    } else {
      known->second += time;
    }
  }
  for (const FamilyTime& family : more.families) {
    family_in(totals.families, family.family).add(family, 1);
  }
  for (std::size_t i = 0; i < totals.launches_by_origin.size(); ++i)
    totals.launches_by_origin[i] += more.launches_by_origin[i];
  totals.host_work += more.host_work;
  totals.transfers_priced += more.transfers_priced;
  totals.transfers_shared += more.transfers_shared;
}

}  // namespace

DeployedPools::DeployedPools(const Scenario& scenario, const Catalogs& catalogs)
    : scenario_(scenario), catalogs_(catalogs), specs_(pools_of(scenario)) {
  Diagnostics diagnostics;
  const Deployment& deployment = scenario.deployment;
  diagnostics.attempt([&] { (void)make_router(deployment.router, "deployment"); });
  if (hands_over(scenario)) {
    diagnostics.attempt([&] { (void)make_router(deployment.prefill_router, "prefill_router"); });
    diagnostics.attempt([&] { (void)make_router(deployment.decode_router, "decode_router"); });
  }
  std::vector<std::vector<ReplicaPlacement>> placements(specs_.size());
  diagnostics.attempt([&] { placements = place_pools(specs_); });
  for (std::size_t pool = 0; pool < specs_.size(); ++pool) {
    diagnostics.attempt([&] {
      engines_.push_back(
          std::make_unique<DeployedEngine>(specs_[pool], catalogs, std::move(placements[pool])));
    });
  }
  diagnostics.throw_if_any();
}

std::unique_ptr<Router> DeployedPools::make_router(const VariantChoice& choice,
                                                   const std::string& table_name) const {
  return make_variant(catalogs_.routers, choice, table_name, RandomStreams(scenario_.run.seed));
}

/// A path for every two pools, the one that prefills first.
std::vector<std::vector<KvPath>> DeployedPools::kv_paths() const {
  std::vector<std::vector<KvPath>> paths;
  for (const PoolSpec& from : specs_) {
    if (from.role != PoolRole::prefill) continue;
    const ParallelLayout& sender = from.scenario.deployment.layout;
    std::vector<KvPath>& row = paths.emplace_back();
    for (const PoolSpec& to : specs_) {
      if (to.role != PoolRole::decode) continue;
      const ParallelLayout& receiver = to.scenario.deployment.layout;
      KvPath& path = row.emplace_back();
      path.shards = kv_shards(scenario_.model, sender, receiver, scenario_.execution.kv_dtype);
      for (int stage = 0; stage < sender.pipeline; ++stage)
        path.stage_layers.push_back(stage_layers(scenario_.model, sender, stage).count());
      path.from_tensor = sender.tensor;
      path.to_tensor = receiver.tensor;
    }
  }
  return paths;
}

void DeployedPools::start_fleet(PoolRole role, Fleet& fleet, Platform& platform, Timeline& timeline,
                                StepObserver* observer) {
  std::size_t kind = 0;
  for (std::size_t pool = 0; pool < specs_.size(); ++pool) {
    if (specs_[pool].role != role) continue;
    DeployedEngine& engine = *engines_[pool];
    const Scenario& scenario = specs_[pool].scenario;
    parts_[pool] = {
        &specs_[pool], &fleet, {fleet.size(), engine.placements().size()}, &engine.placements()};
    engine.start_replicas({pool, {replicas_}, handoff_.get(), &*parties_}, platform, timeline,
                          fleet, observer);
    for (std::size_t i = 0; i < engine.replicas().size(); ++i) {
      const auto& replica = engine.replicas()[i];
      fleet.add(*replica, member_settings(scenario, engine.memory()), first_state(scenario, i));
      if (handoff_) handoff_->add(*replica, kind);
      ++replicas_;
    }
    ++kind;
  }
}

Pool& DeployedPools::start(Platform& platform, Timeline& timeline, RequestListener& client,
                           StepObserver* observer) {
  const Deployment& deployment = scenario_.deployment;
  const FrontEndSettings& fleet = scenario_.front_end;
  parts_.resize(specs_.size());
  std::vector<const std::vector<ReplicaPlacement>*> placements;
  for (const auto& engine : engines_) placements.push_back(&engine->placements());
  parties_.emplace(scenario_, specs_, placements);
  if (!hands_over(scenario_)) {
    fleets_.push_back(std::make_unique<Fleet>(
        fleet, platform, make_router(deployment.router, "deployment"), client));
    start_fleet(PoolRole::both, *fleets_.back(), platform, timeline, observer);
    control_.emplace(scenario_, platform, timeline, parts_);
    return *fleets_.back();
  }
  handoff_ = std::make_unique<Handoff>(kv_paths(), platform, client);
  fleets_.push_back(std::make_unique<Fleet>(
      fleet, platform, make_router(deployment.prefill_router, "prefill_router"),
      handoff_->prefill_listener()));
  fleets_.push_back(std::make_unique<Fleet>(fleet, platform,
                                            make_router(deployment.decode_router, "decode_router"),
                                            handoff_->decode_listener()));
  start_fleet(PoolRole::prefill, *fleets_[0], platform, timeline, observer);
  start_fleet(PoolRole::decode, *fleets_[1], platform, timeline, observer);
  handoff_->connect(*fleets_[0], *fleets_[1]);
  control_.emplace(scenario_, platform, timeline, parts_);
  return *handoff_;
}

void DeployedPools::check_empty() const {
  for (const auto& engine : engines_) {
    for (const auto& replica : engine->replicas()) {
      FORETOKEN_CHECK(replica->ranks().blocks_used() == 0,
                      "replica {} holds {} KV blocks though every request has ended",
                      replica->id().value, replica->ranks().blocks_used());
    }
  }
}

void DeployedPools::arm() { control_->arm(); }

PrefixTotals DeployedPools::prefixes() const {
  PrefixTotals totals;
  for (std::size_t pool = 0; pool < specs_.size(); ++pool) {
    if (specs_[pool].prefills()) totals += engines_[pool]->prefixes();
  }
  return totals;
}

std::vector<ReplicaGauges> DeployedPools::gauges() const {
  std::vector<ReplicaGauges> all;
  for (const auto& engine : engines_) {
    for (const auto& replica : engine->replicas()) {
      const AttentionRanks& ranks = replica->ranks();
      const double used = static_cast<double>(ranks.blocks_used());
      all.push_back({ranks.running(), ranks.waiting(), used / static_cast<double>(ranks.blocks()),
                     replica->prefix_totals()});
    }
  }
  return all;
}

PriceTotals DeployedPools::totals() const {
  PriceTotals totals;
  for (const auto& engine : engines_) add(totals, engine->totals());
  return totals;
}

}  // namespace foretoken
