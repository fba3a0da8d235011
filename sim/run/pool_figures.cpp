#include "sim/run/pool_figures.hpp"

#include <algorithm>

#include "sim/run/scenario_text.hpp"
#include "sim/run/side_figures.hpp"

namespace foretoken {
namespace {

/// Time of a pool's steps, summed over stages and replicas, without that of the host and waiting
/// for it.
Seconds busy(const SimulatedRun& outcome, std::size_t pool) {
  Seconds host;
  for (const auto& [family, time] : outcome.pools.engine(pool).totals().time_by) {
    if (family == "host" || family == "kv_copy") host += time;
  }
  return outcome.timeline.of_pool(pool).busy - host;
}

/// For how long its replicas were up, added up.
Seconds replica_time(const SimulatedRun& outcome, std::size_t pool) {
  const FleetUsage* usage = outcome.pools.usage(pool);
  if (usage != nullptr) return usage->up;
  return outcome.pools.specs()[pool].scenario.deployment.replicas * outcome.ended;
}

/// USD an hour, of all GPUs; nullopt: some have no price.
std::optional<double> price_of_replica(const Scenario& pool) {
  const ParallelLayout& layout = pool.deployment.layout;
  const auto& price = pool.cluster.gpu.price;
  if (!price) return std::nullopt;
  const double attention = price->value() * layout.attention_ranks();
  if (layout.expert_gpus == 0) return attention;
  const auto& of_expert = expert_gpu(pool).price;
  if (!of_expert) return std::nullopt;
  return attention + of_expert->value() * layout.expert_gpus;
}

/// Where a pool's replicas come and go: how many there were, and GPU time by what was up.
std::optional<Report::Fleet> fleet_of(const SimulatedRun& outcome, std::size_t pool) {
  const FleetUsage* usage = outcome.pools.usage(pool);
  if (usage == nullptr) return std::nullopt;
  const double ended = outcome.ended.value();
  const ParallelLayout& layout = outcome.pools.specs()[pool].scenario.deployment.layout;
  Report::Fleet fleet;
  fleet.serving_mean = ended > 0.0 ? usage->serving.value() / ended : 0.0;
  fleet.up_mean = ended > 0.0 ? usage->up.value() / ended : 0.0;
  fleet.up_max = usage->up_max;
  fleet.gpu_hours = usage->up.value() / 3600.0 * layout.ranks();
  const auto price = price_of_replica(outcome.pools.specs()[pool].scenario);
  if (price) fleet.cost = *price * usage->up.value() / 3600.0;
  fleet.starts = usage->starts;
  fleet.wakes = usage->wakes;
  fleet.starts_from_peer = usage->starts_from_peer;
  if (shares_gpus(outcome.pools.specs())) fleet.role_switches = usage->role_switches;
  fleet.failures = usage->failures;
  return fleet;
}

/// Replicas of a pool that were paid for in the steady state, on average: all, unless they come and
/// go.
double replicas_paid(const SimulatedRun& outcome, std::size_t pool, const Report& report) {
  const FleetUsage* usage = outcome.pools.usage(pool);
  if (usage == nullptr) return replicas_max(outcome.pools.specs()[pool].scenario);
  return usage->up_mean(Seconds(report.steady.from_s), Seconds(report.steady.to_s));
}

}  // namespace

std::int64_t blocks_of(const DeployedPools& pools, std::size_t pool) {
  const ParallelLayout& layout = pools.specs()[pool].scenario.deployment.layout;
  return pools.engine(pool).kv_blocks() * layout.data_parallel_attention;
}

double hit_rate(const PrefixCounts& prefixes, std::int64_t tokens) {
  if (prefixes.tokens_asked == 0) return 0.0;
  return static_cast<double>(tokens) / static_cast<double>(prefixes.tokens_asked);
}

double busy_share(const SimulatedRun& outcome, std::size_t pool) {
  const int stages = outcome.pools.specs()[pool].scenario.deployment.layout.pipeline;
  const double stage_seconds = replica_time(outcome, pool).value() * stages;
  return stage_seconds > 0.0 ? busy(outcome, pool).value() / stage_seconds : 0.0;
}

std::vector<NamedCount> memory_pieces(const DeployedEngine& engine) {
  return memory_pieces(engine.memory(), engine.kv_blocks());
}

std::vector<NamedCount> memory_pieces(const MemoryPlan& plan, std::int64_t kv_blocks) {
  const Bytes kv = static_cast<double>(kv_blocks) * plan.kv_block;
  const Bytes unused =
      plan.unused + static_cast<double>(plan.kv_blocks - kv_blocks) * plan.kv_block;
  std::vector<NamedCount> pieces;
  const auto add = [&](const char* name, Bytes size) {
    if (size != Bytes(0.0)) pieces.push_back({name, static_cast<std::int64_t>(size.value())});
  };
  add("capacity", plan.capacity);
  add("weights", plan.weights - plan.draft_weights);
  add("draft_weights", plan.draft_weights);
  add("adapters", plan.adapters);
  add("encoder_cache", plan.encoder_cache);
  add("kv_cache", kv);
  add("activations", plan.activations);
  add("cuda_graphs", plan.graphs);
  add("communication", plan.communication);
  add("runtime", plan.runtime);
  add("context", plan.context);
  add("driver", plan.driver);
  add(unused < Bytes(0.0) ? "overcommitted" : "unused", std::max(unused, -1.0 * unused));
  return pieces;
}

void add_fleet(const SimulatedRun& outcome, Report& report) {
  for (std::size_t pool = 0; pool < outcome.pools.specs().size(); ++pool) {
    const std::optional<Report::Fleet> part = fleet_of(outcome, pool);
    if (!part) return;
    if (!report.fleet) {
      report.fleet = Report::Fleet{};
      report.fleet->cost = 0.0;
    }
    report.fleet->cost = part->cost && report.fleet->cost
                             ? std::optional(*report.fleet->cost + *part->cost)
                             : std::nullopt;
    report.fleet->serving_mean += part->serving_mean;
    report.fleet->up_mean += part->up_mean;
    report.fleet->up_max += part->up_max;
    report.fleet->gpu_hours += part->gpu_hours;
    report.fleet->starts += part->starts;
    report.fleet->wakes += part->wakes;
    report.fleet->starts_from_peer += part->starts_from_peer;
    if (part->role_switches)
      report.fleet->role_switches = report.fleet->role_switches.value_or(0) + *part->role_switches;
    report.fleet->failures += part->failures;
  }
}

void add_cost(const SimulatedRun& outcome, Report& report) {
  Report::Cost cost;
  bool has_price = true;
  for (std::size_t pool = 0; pool < outcome.pools.specs().size(); ++pool) {
    const auto price = price_of_replica(outcome.pools.specs()[pool].scenario);
    has_price &= price.has_value();
    if (price) cost.per_hour += *price * replicas_paid(outcome, pool, report);
  }
  if (!has_price) return;
  const double tokens_per_hour = report.throughput.output_tokens_per_s * 3600.0;
  if (tokens_per_hour > 0.0) {
    cost.per_million_output_tokens = cost.per_hour / tokens_per_hour * 1e6;
  }
  report.cost = cost;
}

/// Idle power where nobody says it, of the board's limit: fitted with the energy of products
/// (kernels/estimators/tensor_energy.hpp), whose clocks stay up between steps.
constexpr double idle_share = 0.19;

/// What a pool's GPUs and nodes draw from the beginning to the end.
EnergyFigures energy_of(const SimulatedRun& outcome, std::size_t pool) {
  const Scenario& scenario = outcome.pools.specs()[pool].scenario;
  const ParallelLayout& layout = scenario.deployment.layout;
  const PowerSettings& power = scenario.power;
  const Watts board = power.cap > Watts(0.0) ? power.uncapped : scenario.cluster.gpu.power;
  const Watts idle = power.idle > Watts(0.0) ? power.idle : idle_share * board;
  const std::optional<SideFigures> sides = sides_of(outcome.pools, pool);
  const Seconds steps = busy(outcome, pool), up = replica_time(outcome, pool);
  EnergyFigures energy;
  const auto add = [&](Seconds in_steps, Seconds all, Watts working, Watts waiting,
                       const NodeSpec& node) {
    energy.steps_j += (working * in_steps).value();
    energy.idle_j += (waiting * std::max(Seconds(0.0), all - in_steps)).value();
    energy.host_j += (power.host * (all / node.gpus)).value();
  };
  add(layout.stage_ranks() * (sides ? steps * sides->attention_busy : steps),
      layout.attention_ranks() * up, scenario.cluster.gpu.power, idle, scenario.cluster.node);
  if (!sides) return energy;
  const ClusterSpec experts = scenario.cluster.seen_from(scenario.deployment.expert_group);
  const bool is_same = scenario.deployment.expert_group == scenario.deployment.node_group;
  add(layout.expert_gpus * (steps * sides->experts_busy), layout.expert_gpus * up,
      experts.gpu.power, is_same ? idle : idle_share * experts.gpu.power, experts.node);
  return energy;
}

void add_energy(const SimulatedRun& outcome, Report& report) {
  // Of the whole run, warm-up included, as the energy is.
  double tokens = 0, completed = 0;
  for (const RequestRecord& record : outcome.timeline.requests()) {
    tokens += static_cast<double>(record.output_tokens);
    completed += record.status == RequestStatus::completed ? 1 : 0;
  }
  EnergyFigures all;
  for (std::size_t pool = 0; pool < outcome.pools.specs().size(); ++pool) {
    const Scenario& spec = outcome.pools.specs()[pool].scenario;
    if (!(spec.cluster.gpu.power > Watts(0.0)) || !(expert_gpu(spec).power > Watts(0.0))) return;
    const EnergyFigures part = energy_of(outcome, pool);
    all.steps_j += part.steps_j;
    all.idle_j += part.idle_j;
    all.host_j += part.host_j;
  }
  const double joules = all.steps_j + all.idle_j + all.host_j;
  if (tokens > 0.0) report.energy_j_per_token = joules / tokens;
  if (completed > 0.0) all.per_request_j = joules / completed;
  report.energy = all;
}

void add_pools(const Scenario& scenario, const SimulatedRun& outcome, Report& report) {
  for (std::size_t i = 0; i < scenario.pools.size(); ++i) {
    const PoolSpec& spec = outcome.pools.specs()[i];
    const DeployedEngine& engine = outcome.pools.engine(i);
    const StepTotals steps = outcome.timeline.of_pool(i);
    const GpuSpec& gpu = spec.scenario.cluster.gpu;
    Report::Pool& pool = report.pools.emplace_back();
    pool.name = spec.name;
    pool.role = enum_name(spec.role);
    pool.gpu = gpu.title;
    pool.gpus = gpus_of(spec.scenario);
    pool.replicas = replicas_max(spec.scenario);
    pool.fleet = fleet_of(outcome, i);
    pool.gpu_busy = busy_share(outcome, i);
    pool.iterations = steps.steps;
    pool.batch_mean = steps.steps > 0
                          ? static_cast<double>(steps.sequences) / static_cast<double>(steps.steps)
                          : 0.0;
    pool.batch_max = steps.sequences_max;
    pool.kv_blocks = blocks_of(outcome.pools, i);
    const auto blocks = static_cast<double>(pool.kv_blocks);
    pool.kv_peak = steps.kv_used_peak / blocks;
    pool.kv_mean = steps.kv_used_mean() / blocks;
    if (scenario.workload->prefix_block_tokens() > 0 && spec.scenario.engine.prefix_caching) {
      const PrefixCounts prefixes = engine.prefixes().all();
      pool.prefix_hit_rate = hit_rate(prefixes, prefixes.tokens_found);
    }
    const auto price = price_of_replica(spec.scenario);
    if (price) pool.cost_per_hour = *price * replicas_paid(outcome, i, report);
    pool.sides = sides_of(outcome.pools, i);
    pool.memory_bytes = memory_pieces(engine);
  }
}

}  // namespace foretoken
