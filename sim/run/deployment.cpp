#include "sim/run/deployment.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/unit_text.hpp"
#include "sim/prices/all_reduce_of.hpp"
#include "sim/prices/scenario_prices.hpp"
#include "sim/run/adapter_limits.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/serving/encode_scheduler.hpp"

namespace foretoken {

DeployedEngine::DeployedEngine(const PoolSpec& pool, const Catalogs& catalogs,
                               std::vector<ReplicaPlacement> placements)
    : role_(pool.role),
      model_(pool.model),
      scenario_(pool.scenario),
      catalogs_(catalogs),
      comm_(communication_of(scenario_)),
      placements_(std::move(placements)) {
  const Scenario& scenario = scenario_;
  Diagnostics diagnostics;
  const ParallelLayout& layout = scenario.deployment.layout;
  diagnostics.attempt([&] {
    predictor_ = std::make_unique<MemoPredictor>(step_predictor(scenario, catalogs.predictors),
                                                 scenario.cluster.gpu);
  });
  diagnostics.attempt([&] {
    KvCache scratch(1, scenario.engine.block_tokens);
    const auto scheduler = make_variant(catalogs.schedulers, scenario.engine.scheduler, "engine",
                                        SchedulerLimits(scenario.engine), scratch);
    expect_adapter_scheduler(scenario, *scheduler);
    if (role_ != PoolRole::encode) expect_media_scheduler(scenario, *scheduler);
  });
  diagnostics.attempt([&] { check_all_reduce(); });
  diagnostics.attempt([&] {
    const MemoryLimits limits{scenario.engine, scenario.engine, draft_memory(scenario),
                              encoder_limits(scenario)};
    if (role_ == PoolRole::encode) {
      memory_ = plan_encoder_memory(scenario.model, layout, scenario.execution,
                                    scenario.cluster.gpu, limits, scenario.engine_position);
      kv_blocks_ = memory_.kv_blocks;
    } else {
      plan_experts(limits);
      plan_kv(limits);
      check_host_room();
    }
    stores_.emplace(scenario_, memory_.kv_block_all_ranks);
  });
  diagnostics.throw_if_any();
  if (role_ != PoolRole::encode) check_traffic_fits();
}

void DeployedEngine::plan_kv(const MemoryLimits& limits) {
  const ParallelLayout& layout = scenario_.deployment.layout;
  const GpuSpec& gpu = scenario_.cluster.gpu;
  memory_ = plan_memory(scenario_.model, layout, scenario_.execution, gpu, limits);
  kv_blocks_ = memory_.kv_blocks;
  if (scenario_.engine.kv_blocks > 0) {
    kv_blocks_ = scenario_.engine.kv_blocks;
  } else {
    check_memory(memory_, scenario_.model, layout, gpu, limits, scenario_.model_position,
                 scenario_.engine_position);
  }
}

void DeployedEngine::plan_experts(const MemoryLimits& limits) {
  const Deployment& deployment = scenario_.deployment;
  if (deployment.layout.expert_gpus == 0) return;
  const GpuSpec& gpu = expert_gpu(scenario_);
  if (deployment.expert_group != deployment.node_group) {
    experts_predictor_ =
        std::make_unique<MemoPredictor>(step_predictor(scenario_, catalogs_.predictors), gpu);
  }
  expert_memory_ = plan_expert_memory(scenario_.model, deployment.layout, scenario_.execution, gpu,
                                      limits, scenario_.model_position);
}

std::int64_t DeployedEngine::context_max() const {
  const std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  const std::int64_t of_model = scenario_.model.context_max;
  const std::int64_t of_engine = scenario_.engine.context_max;
  return std::min(of_model > 0 ? of_model : unlimited, of_engine > 0 ? of_engine : unlimited);
}

/// An algorithm by name must serve every stage's group.
void DeployedEngine::check_all_reduce() const {
  for (const ReplicaPlacement& replica : placements_) {
    for (const std::vector<GpuId>& stage : replica.stages) {
      const auto tensor = static_cast<std::size_t>(scenario_.deployment.layout.tensor);
      const GroupLinks links = group_links(scenario_.cluster, std::span(stage).first(tensor));
      if (may_all_reduce(comm_.all_reduce, links, comm_.parameters)) continue;
      std::vector<std::string_view> able;
      for (const std::string_view name : all_reduce_names()) {
        if (may_all_reduce(name, links, comm_.parameters)) able.push_back(name);
      }
      throw ConfigError(scenario_.deployment_position,
                        fmt::format("all_reduce = \"{}\" does not support {} GPUs on {} node(s) of "
                                    "cluster {}; use one of {}",
                                    comm_.all_reduce, links.ranks, links.nodes,
                                    scenario_.cluster.name, fmt::join(able, ", ")));
    }
  }
}

/// A KV pool that not even the shortest of the first requests fits into can serve nothing.
void DeployedEngine::check_traffic_fits() const {
  constexpr int requests_looked_at = 10'000;
  const std::int64_t pool = kv_blocks_ * scenario_.engine.block_tokens;
  const auto held = [&](std::int64_t tokens) {
    return tokens + memory_.beside.blocks(tokens) * scenario_.engine.block_tokens;
  };
  const auto source = scenario_.workload->start(RandomStreams(scenario_.run.seed));
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < requests_looked_at && shortest > pool; ++i) {
    const auto request = source->next();
    if (!request) break;
    if (request->model != model_) continue;
    const std::int64_t output = role_ == PoolRole::prefill ? 1 : request->output_tokens;
    shortest = std::min(shortest, held(request->prompt_tokens + output));
  }
  if (shortest <= pool || shortest == std::numeric_limits<std::int64_t>::max()) return;
  throw ConfigError(
      scenario_.engine_position,
      fmt::format("the KV cache holds {} tokens ({} block{} of {}), less than the shortest request "
                  "({} tokens); {} are missing. {}",
                  pool, kv_blocks_, kv_blocks_ == 1 ? "" : "s", scenario_.engine.block_tokens,
                  shortest, shortest - pool,
                  scenario_.engine.kv_blocks > 0
                      ? "Raise kv_blocks, or set it to 0 to have it computed"
                  : scenario_.engine.kv_blocks_max() == kv_blocks_
                      ? "Raise kv_tokens_max, or leave it out for all that fit"
                      : "Raise memory_utilization, tensor_parallel or pipeline_parallel, or use a "
                        "smaller kv_dtype"));
}

StagePricer& DeployedEngine::pricer_for(int stage, const StageLinks& links) {
  for (PricerEntry& entry : pricers_) {
    if (entry.stage == stage && entry.links == links) return *entry.pricer;
  }
  pricers_.push_back({stage, links,
                      std::make_unique<StagePricer>(scenario_.model, scenario_.deployment.layout,
                                                    scenario_.execution, stage, links, comm_,
                                                    *predictor_, experts_predictor_.get())});
  return *pricers_.back().pricer;
}

DraftPricer* DeployedEngine::draft_pricer_for(const StageLinks& links) {
  for (const DraftEntry& entry : draft_pricers_) {
    if (entry.links == links) return entry.pricer.get();
  }
  draft_pricers_.push_back({links, make_draft_pricer(scenario_, links, comm_, *predictor_)});
  return draft_pricers_.back().pricer.get();
}

EncoderPricer* DeployedEngine::encoder_pricer_for(const GroupLinks& links) {
  if (!scenario_.workload->has_media()) return nullptr;
  for (const EncoderEntry& entry : encoder_pricers_) {
    if (entry.links == links) return entry.pricer.get();
  }
  encoder_pricers_.push_back(
      {links, std::make_unique<EncoderPricer>(scenario_.model, scenario_.deployment.layout,
                                              scenario_.execution, links, comm_, *predictor_)});
  return encoder_pricers_.back().pricer.get();
}

ReplicaConfig DeployedEngine::replica_config(ReplicaId id, const ReplicaPlacement& placement,
                                             const LinkParties& parties, Platform& platform) {
  ReplicaConfig config;
  config.id = id;
  config.stage_gpus = placement.stages;
  config.context_max = context_max();
  config.queue_max = scenario_.engine.queue_max;
  config.comm = comm_;
  config.micro_batches = scenario_.deployment.micro_batches;
  config.host = scenario_.engine.host.here(stretch_of(scenario_, "host"));
  config.lists_sequences = scenario_.attention == AttentionDetail::plan;
  config.host_copies = scenario_.engine.host_copies;
  const auto tensor = static_cast<std::size_t>(scenario_.deployment.layout.tensor);
  config.groups = {tensor, static_cast<std::size_t>(scenario_.deployment.layout.decode_context)};
  const std::vector<std::vector<GpuId>>& stages = placement.stages;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const std::span<const GpuId> gpus = stages[stage];
    const auto links_of = [&](CommGroup group) {
      return group_links(scenario_.cluster, members_of(group, config.groups, gpus).front());
    };
    StageLinks links(links_of(CommGroup::tensor_parallel), links_of(CommGroup::expert_parallel));
    links.context = links_of(CommGroup::context_parallel);
    links.prompts = links_of(CommGroup::prompt_parallel);
    if (!placement.experts.empty())
      links.experts = links_between(scenario_.cluster, gpus, placement.experts);
    links.are_met = parties.are_collectives_met(gpus, tensor);
    config.pricers.push_back(&pricer_for(static_cast<int>(stage), links));
    config.stages.emplace_back();
    if (links.are_met) config.stages.back() = platform.add_stage(gpus, config.groups);
    const bool is_last = stage + 1 == stages.size();
    const std::vector<GpuId>& next = stages[is_last ? stage : stage + 1];
    const std::vector<GpuId> pair = {gpus.front(), next.front()};
    GroupLinks& send = config.send_links.emplace_back();
    if (!is_last) send = group_links(scenario_.cluster, pair);
    if (!is_last && parties.is_send_met(gpus, next)) send.is_private = false;
    const ParallelLayout& layout = scenario_.deployment.layout;
    const int number = static_cast<int>(stage);
    config.layers.push_back(stage_layers(scenario_.model, layout, number).count());
    config.kv_block.push_back(
        scenario_.execution.block_tokens *
        sequence_memory_per_rank(scenario_.model, layout, number, scenario_.execution.kv_dtype)
            .per_token);
  }
  config.adapters = adapter_limits(scenario_);
  config.encoder = encoder_pricer_for(
      group_links(scenario_.cluster,
                  members_of(CommGroup::tensor_parallel, config.groups, stages.front()).front()));
  if (scenario_.engine.speculative) {
    const std::span<const GpuId> last = stages.back();
    DraftPricer* pricer = draft_pricer_for(
        {group_links(scenario_.cluster, last.first(tensor)), group_links(scenario_.cluster, last)});
    config.speculation = make_speculation(scenario_, id, pricer);
    config.host.gap += scenario_.engine.speculative->host_time * stretch_of(scenario_, "host");
    config.kv_block.back() +=
        scenario_.execution.block_tokens * draft_memory(scenario_).kv_per_token;
  }
  return config;
}

/// Whole blocks of one attention rank; each has its part of the replica's room.
HostKv DeployedEngine::host_kv() const {
  const Bytes room = scenario_.engine.host_kv / scenario_.deployment.layout.data_parallel_attention;
  return {static_cast<std::int64_t>(std::floor(room / memory_.kv_block_all_ranks)),
          scenario_.engine.preemption == Preemption::swap};
}

void DeployedEngine::check_host_room() const {
  if (scenario_.engine.host_kv <= Bytes(0.0) || host_kv().blocks > 0) return;
  throw ConfigError(
      scenario_.host_kv_position,
      fmt::format("engine.host_kv: {} is less than one KV block, which is {} on all "
                  "ranks{}; give a few GiB",
                  readable(scenario_.engine.host_kv), readable(memory_.kv_block_all_ranks),
                  scenario_.deployment.layout.data_parallel_attention > 1
                      ? " of each attention rank"
                      : ""));
}

void DeployedEngine::start_replicas(const PoolPart& part, Platform& platform, Timeline& timeline,
                                    RequestListener& listener, StepObserver* observer) {
  for (std::size_t i = 0; i < placements_.size(); ++i) {
    const ReplicaId id = {part.first.value + static_cast<std::uint32_t>(i)};
    ReplicaConfig config = replica_config(id, placements_[i], *part.parties, platform);
    config.pool = part.pool;
    config.role = role_;
    config.port = part.port;
    config.media = part.media;
    if (role_ == PoolRole::prefill) {
      const HandoffSettings& handoff = scenario_.deployment.handoff;
      config.announces_pieces = handoff.kv_transfer == KvTransfer::layer_wise;
      config.shows_first_token = handoff.first_token == FirstToken::prefill;
    }
    replicas_.push_back(std::make_unique<Replica>(
        std::move(config), platform, [this] { return start_engines(); }, timeline, listener,
        observer));
  }
}

AttentionRanks DeployedEngine::start_engines() {
  SchedulerLimits limits = scenario_.engine;
  if (scenario_.execution.lora) limits.adapters_max = scenario_.execution.lora->adapters_max;
  const EncoderSettings encoder = encoder_limits(scenario_);
  const std::shared_ptr<KvStore> store = stores_->for_start();
  AttentionRanks ranks(store, role_ == PoolRole::prefill || role_ == PoolRole::decode);
  for (int rank = 0; rank < scenario_.deployment.layout.data_parallel_attention; ++rank) {
    auto cache = std::make_unique<KvCache>(
        kv_blocks_, scenario_.engine.block_tokens, scenario_.engine.prefix_caching,
        role_ == PoolRole::encode ? HostKv() : host_kv(), memory_.beside, store.get());
    auto scheduler = role_ == PoolRole::encode
                         ? std::make_unique<EncodeScheduler>()
                         : make_variant(catalogs_.schedulers, scenario_.engine.scheduler, "engine",
                                        limits, *cache);
    std::unique_ptr<EncoderCache> images;
    if (encoder.step_tokens > 0) images = std::make_unique<EncoderCache>(encoder);
    ranks.add(std::move(cache), std::move(scheduler), std::move(images));
  }
  return ranks;
}

}  // namespace foretoken
