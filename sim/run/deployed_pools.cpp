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
  totals.sides += more.sides;
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
  for (std::size_t pool = 0; pool < specs_.size(); ++pool) {
    for (std::size_t first = 0; first < pool && !engines_[pool]->kv_stores().has_joined(); ++first)
      if (specs_[first].model == specs_[pool].model) engines_[pool]->join_store(*engines_[first]);
  }
}

std::unique_ptr<Router> DeployedPools::make_router(const VariantChoice& choice,
                                                   const std::string& table_name) const {
  return make_variant(catalogs_.routers, choice, table_name, RandomStreams(scenario_.run.seed));
}

/// A path for every two pools, the one that prefills first.
std::vector<std::vector<KvPath>> DeployedPools::kv_paths(int model) const {
  std::vector<std::vector<KvPath>> paths;
  for (const PoolSpec& from : specs_) {
    if (from.role != PoolRole::prefill || from.model != model) continue;
    const ParallelLayout& sender = from.scenario.deployment.layout;
    std::vector<KvPath>& row = paths.emplace_back();
    for (const PoolSpec& to : specs_) {
      if (to.role != PoolRole::decode || to.model != model) continue;
      const ParallelLayout& receiver = to.scenario.deployment.layout;
      KvPath& path = row.emplace_back();
      path.shards =
          kv_shards(from.scenario.model, sender, receiver, from.scenario.execution.kv_dtype);
      for (int stage = 0; stage < sender.pipeline; ++stage)
        path.stage_layers.push_back(stage_layers(from.scenario.model, sender, stage).count());
      path.from_tensor = sender.tensor;
      path.to_tensor = receiver.tensor;
    }
  }
  return paths;
}

/// Pools that share GPUs have equal weights if model, number format and layout are.
MemberSettings DeployedPools::settings_of(std::size_t pool) {
  const Scenario& scenario = specs_[pool].scenario;
  MemberSettings settings = member_settings(scenario, engines_[pool]->memory());
  const auto shares = [&](const PoolSpec& one, const PoolSpec& other) {
    return one.scenario.deployment.shares_gpus_with == other.name;
  };
  for (std::size_t other = 0; other < specs_.size(); ++other) {
    const PoolSpec &one = specs_[std::min(pool, other)], &two = specs_[std::max(pool, other)];
    if (pool == other || !shares(two, one)) continue;
    settings.gpus = &shares_;
    const bool are_equal = one.model == two.model &&
                           one.scenario.execution.dtype == two.scenario.execution.dtype &&
                           one.scenario.deployment.layout == two.scenario.deployment.layout;
    settings.weights = static_cast<int>(are_equal ? std::min(pool, other) : pool);
  }
  return settings;
}

void DeployedPools::start_fleet(int model, PoolRole role, Fleet& fleet, Handoff* handoff,
                                const Start& start) {
  std::size_t kind = 0;
  for (std::size_t pool = 0; pool < specs_.size(); ++pool) {
    if (specs_[pool].role != role || specs_[pool].model != model) continue;
    DeployedEngine& engine = *engines_[pool];
    const Scenario& scenario = specs_[pool].scenario;
    parts_[pool] = {
        &specs_[pool], &fleet, {fleet.size(), engine.placements().size()}, &engine.placements()};
    MediaPort* images = specs_[pool].encodes() ? nullptr : encoder_;
    engine.start_replicas({pool, {replicas_}, handoff, images, &*parties_}, start.platform,
                          start.timeline, fleet, start.observer);
    for (std::size_t i = 0; i < engine.replicas().size(); ++i) {
      const auto& replica = engine.replicas()[i];
      fleet.add(*replica, settings_of(pool), first_state(scenario, i));
      if (handoff != nullptr) handoff->add(*replica, kind);
      if (encoder_ != nullptr) encoder_->add(*replica, scenario.deployment.layout.tensor);
      ++replicas_;
    }
    ++kind;
  }
}

Fleet& DeployedPools::add_fleet(const VariantChoice& router, const std::string& table_name,
                                Platform& platform, RequestListener& client) {
  fleets_.push_back(std::make_unique<Fleet>(scenario_.front_end, platform,
                                            make_router(router, table_name), client));
  return *fleets_.back();
}

Pool& DeployedPools::start_model(int model, const Start& start, RequestListener& client) {
  encoder_ = nullptr;
  const auto encoding = std::ranges::find_if(
      specs_, [&](const PoolSpec& spec) { return spec.encodes() && spec.model == model; });
  if (encoding == specs_.end()) return start_serving(model, start, client);
  const Scenario& scenario = encoding->scenario;
  EncodeHandoff::MediaBytes token;
  for (const Medium medium : all_media) {
    if (!scenario.model.takes(medium)) continue;
    const auto values = static_cast<double>(scenario.model.encoder(medium)->values_per_token());
    token[static_cast<std::size_t>(medium)] =
        Bytes(values * bytes_per_element(activation_dtype(scenario.execution.dtype)));
  }
  encoders_.push_back(std::make_unique<EncodeHandoff>(token, start.platform, client));
  encoder_ = encoders_.back().get();
  Pool& serving = start_serving(model, start, encoder_->serve_listener());
  Fleet& fleet =
      add_fleet({"least_outstanding"}, "encode", start.platform, encoder_->encode_listener());
  start_fleet(model, PoolRole::encode, fleet, nullptr, start);
  encoder_->connect(fleet, serving);
  return *encoder_;
}

Pool& DeployedPools::start_serving(int model, const Start& start, RequestListener& client) {
  const Deployment& deployment = scenario_.deployment;
  std::vector<std::vector<KvPath>> paths = kv_paths(model);
  if (paths.empty()) {
    Fleet& fleet = add_fleet(deployment.router, "deployment", start.platform, client);
    start_fleet(model, PoolRole::both, fleet, nullptr, start);
    return fleet;
  }
  handoffs_.push_back(std::make_unique<Handoff>(std::move(paths), deployment.handoff,
                                                scenario_.front_end, start.platform, client));
  Handoff& handoff = *handoffs_.back();
  Fleet& prefill = add_fleet(deployment.prefill_router, "prefill_router", start.platform,
                             handoff.prefill_listener());
  Fleet& decode = add_fleet(deployment.decode_router, "decode_router", start.platform,
                            handoff.decode_listener());
  start_fleet(model, PoolRole::prefill, prefill, &handoff, start);
  start_fleet(model, PoolRole::decode, decode, &handoff, start);
  handoff.connect(prefill, decode);
  return handoff;
}

Pool& DeployedPools::start(Platform& platform, Timeline& timeline, RequestListener& client,
                           StepObserver* observer) {
  parts_.resize(specs_.size());
  std::vector<const std::vector<ReplicaPlacement>*> placements;
  for (const auto& engine : engines_) placements.push_back(&engine->placements());
  parties_.emplace(scenario_, specs_, placements);
  const Start start{platform, timeline, observer};
  const int models = std::ranges::max_element(specs_, {}, &PoolSpec::model)->model + 1;
  if (models > 1) models_.emplace(client);
  Pool* front = nullptr;
  for (int model = 0; model < models; ++model) {
    Pool& pool = start_model(model, start, models_ ? *models_ : client);
    if (models_) models_->add(pool);
    front = models_ ? static_cast<Pool*>(&*models_) : &pool;
  }
  control_.emplace(scenario_, platform, timeline, parts_);
  return *front;
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

PrefixCounts DeployedPools::prefixes() const {
  PrefixCounts counts;
  for (std::size_t pool = 0; pool < specs_.size(); ++pool) {
    if (!specs_[pool].encodes()) counts += engines_[pool]->prefixes().computed;
  }
  return counts;
}

std::vector<ReplicaGauges> DeployedPools::gauges() const {
  std::vector<ReplicaGauges> all;
  for (std::size_t pool = 0; pool < specs_.size(); ++pool) {
    for (const auto& replica : engines_[pool]->replicas()) {
      const AttentionRanks& ranks = replica->ranks();
      const double used = static_cast<double>(ranks.blocks_used());
      all.push_back({ranks.running(), ranks.waiting(), used / static_cast<double>(ranks.blocks()),
                     replica->prefix_totals().all(), specs_[pool].model});
    }
  }
  return all;
}

Bytes DeployedPools::media_sent(Medium medium) const {
  Bytes sent;
  for (const auto& encoder : encoders_) sent += encoder->sent(medium);
  return sent;
}

PriceTotals DeployedPools::totals() const {
  PriceTotals totals;
  for (const auto& engine : engines_) add(totals, engine->totals());
  return totals;
}

}  // namespace foretoken
