#include "sim/run/summary.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/routing.hpp"
#include "sim/base/unit_text.hpp"
#include "sim/run/interval_estimate.hpp"
#include "sim/run/price_edge.hpp"
#include "sim/run/priority_classes.hpp"
#include "sim/run/request_figures.hpp"
#include "sim/run/scenario_text.hpp"

namespace foretoken {
namespace {

std::int64_t preemptions_of(const Timeline& timeline) {
  std::int64_t preemptions = 0;
  for (const RequestRecord& record : timeline.requests()) preemptions += record.preemptions;
  return preemptions;
}

void add_slo_targets(const SloTargets& slo, Report& report) {
  const auto add = [&](const char* name, const std::optional<Seconds>& target) {
    if (target) report.slo.targets.push_back(fmt::format("{} <= {}", name, readable(*target)));
  };
  add("ttft", slo.ttft);
  add("tpot", slo.tpot);
  add("e2e", slo.e2e);
  const auto in_ms = [](const std::optional<Seconds>& target) {
    return target ? std::optional(target->value() * 1e3) : std::nullopt;
  };
  report.slo.ttft_ms = in_ms(slo.ttft);
  report.slo.tpot_ms = in_ms(slo.tpot);
  report.slo.e2e_ms = in_ms(slo.e2e);
  report.slo.percentile = slo.percentile;
  report.slo.met = report.slo.attainment >= slo.percentile / 100.0;
}

/// Over the pools, whose blocks are of different sizes.
void add_host(const DeployedPools& pools, Report& report) {
  Report::HostKv sums;
  std::int64_t used_peak = 0;
  for (std::size_t pool = 0; pool < pools.specs().size(); ++pool) {
    const HostTotals host = pools.engine(pool).host();
    const double block = pools.engine(pool).memory().kv_block_all_ranks.value();
    sums.blocks += host.blocks;
    sums.bytes += static_cast<double>(host.blocks) * block;
    sums.bytes_to_host += static_cast<double>(host.copies.to_host) * block;
    sums.bytes_from_host += static_cast<double>(host.copies.from_host) * block;
    sums.swaps += host.swapped;
    used_peak += host.used_peak;
  }
  if (sums.blocks == 0) return;
  sums.peak = static_cast<double>(used_peak) / static_cast<double>(sums.blocks);
  report.kv.host = sums;
}

/// The pool whose KV cache stands for all in the report's first lines.
std::size_t first_decoding(const DeployedPools& pools) {
  const auto found = std::ranges::find_if(pools.specs(), &PoolSpec::decodes);
  return static_cast<std::size_t>(found - pools.specs().begin());
}

/// Of one replica.
std::int64_t blocks_of(const DeployedPools& pools, std::size_t pool) {
  const ParallelLayout& layout = pools.specs()[pool].scenario.deployment.layout;
  return pools.engine(pool).kv_blocks() * layout.data_parallel_attention;
}

bool caches_prefixes(const DeployedPools& pools) {
  return std::ranges::any_of(pools.specs(), [](const PoolSpec& pool) {
    return pool.prefills() && pool.scenario.engine.prefix_caching;
  });
}

/// Of the prompt tokens asked for.
double hit_rate(const PrefixTotals& prefixes, std::int64_t tokens) {
  if (prefixes.tokens_asked == 0) return 0.0;
  return static_cast<double>(tokens) / static_cast<double>(prefixes.tokens_asked);
}

void add_load(const Scenario& scenario, const SimulatedRun& outcome, Report& report) {
  const Timeline& timeline = outcome.timeline;
  const std::size_t shown = first_decoding(outcome.pools);
  const StepTotals steps = timeline.of_pool(shown);
  report.kv.blocks = blocks_of(outcome.pools, shown);
  const auto blocks = static_cast<double>(report.kv.blocks);
  add_host(outcome.pools, report);
  report.kv.block_tokens = outcome.pools.specs()[shown].scenario.engine.block_tokens;
  if (scenario.workload->prefix_block_tokens() > 0 && caches_prefixes(outcome.pools)) {
    const PrefixTotals prefixes = outcome.pools.prefixes();
    report.kv.prefix_hit_rate = hit_rate(prefixes, prefixes.tokens_found);
    if (report.kv.host) report.kv.host_hit_rate = hit_rate(prefixes, prefixes.tokens_found_host);
  }
  report.kv.state_bytes = outcome.pools.engine(shown).memory().state.value();
  report.kv.peak = steps.kv_used_peak / blocks;
  report.kv.mean = steps.kv_used_mean() / blocks;
  report.iterations = timeline.steps();
  report.batch_max = timeline.step_sequences_max();
  report.batch_mean = timeline.steps() > 0 ? static_cast<double>(timeline.step_sequences()) /
                                                 static_cast<double>(timeline.steps())
                                           : 0.0;
  double all_blocks = 0;
  for (std::size_t pool = 0; pool < outcome.pools.specs().size(); ++pool) {
    all_blocks += static_cast<double>(blocks_of(outcome.pools, pool)) *
                  replicas_max(outcome.pools.specs()[pool].scenario);
  }
  const double width = timeline.load().width().value();
  report.timeline_interval_s = width;
  for (std::size_t i = 0; i < timeline.load().buckets().size(); ++i) {
    const LoadCurve::Bucket& bucket = timeline.load().buckets()[i];
    report.timeline.push_back({static_cast<double>(i) * width, bucket.running_s / width,
                               bucket.waiting_s() / width, bucket.kv_block_s / width / all_blocks,
                               bucket.output_tokens / width, bucket.replicas_s / width});
  }
}

/// Time of a pool's steps, summed over stages and replicas, without that of the host and waiting
/// for it.
Seconds busy(const SimulatedRun& outcome, std::size_t pool) {
  Seconds host;
  for (const auto& [family, time] : outcome.pools.engine(pool).totals().time_by) {
    if (family == "host" || family == "kv_copy") host += time;
  }
  return outcome.timeline.of_pool(pool).busy - host;
}

/// Share of the pool's GPU time with a step running.
double busy_share(const SimulatedRun& outcome, std::size_t pool) {
  const Deployment& deployment = outcome.pools.specs()[pool].scenario.deployment;
  const FleetUsage* usage = outcome.pools.usage(pool);
  const double replica_seconds =
      usage != nullptr ? usage->up.value() : outcome.ended.value() * deployment.replicas;
  const double stage_seconds = replica_seconds * deployment.layout.pipeline;
  return stage_seconds > 0.0 ? busy(outcome, pool).value() / stage_seconds : 0.0;
}

bool longer_first(const NamedSeconds& a, const NamedSeconds& b) {
  return a.seconds != b.seconds ? a.seconds > b.seconds : a.name < b.name;
}

StepError step_error_of(const DeployedPools& pools) {
  std::vector<PricedTime> kinds;
  for (std::size_t pool = 0; pool < pools.specs().size(); ++pool) {
    PricedTime& kind = kinds.emplace_back();
    kind.by = priced_by(pools.specs()[pool].scenario);
    for (const auto& [family, time] : pools.engine(pool).totals().time_by)
      kind.time_by.push_back({std::string(family), time.value()});
  }
  return step_error(kinds);
}

/// Of the pool that decodes. Where routings are drawn, what is typical of them.
void add_experts(const SimulatedRun& outcome, Report& report) {
  const Scenario& shown = outcome.pools.specs()[first_decoding(outcome.pools)].scenario;
  if (!shown.model.moe) return;
  const MoeConfig& moe = *shown.model.moe;
  const std::string& drawn = shown.execution.routing_draw.text;
  const auto tokens = static_cast<std::int64_t>(std::llround(std::max(report.batch_mean, 1.0)));
  const std::vector<std::int64_t> counts =
      expert_counts(shown.execution.routing, tokens, moe.topk, moe.experts);
  Report::Experts& experts = report.experts.emplace();
  experts.routing = drawn.empty() ? routing_text(shown.execution.routing) : drawn;
  experts.experts = moe.experts;
  experts.awake =
      static_cast<int>(std::ranges::count_if(counts, [](std::int64_t count) { return count > 0; }));
}

void add_prices(const SimulatedRun& outcome, Report& report) {
  report.step_error = step_error_of(outcome.pools);
  const PriceTotals totals = outcome.pools.totals();
  for (const auto& [family, time] : totals.time_by)
    report.time_by.push_back({std::string(family), time.value()});
  if (totals.host_work > Seconds(0.0)) {
    const auto exposed =
        std::ranges::find(totals.time_by, "host", &std::pair<std::string_view, Seconds>::first);
    report.host = {totals.host_work.value(),
                   exposed != totals.time_by.end() ? exposed->second.value() : 0.0};
  }
  std::ranges::stable_sort(report.time_by, longer_first);
  for (const FamilyTime& family : totals.families) {
    FamilyFigures& figures = report.families.emplace_back();
    figures.name = family.family;
    for (std::size_t i = 0; i < family.by_bound.size(); ++i) {
      const double seconds = family.by_bound[i].value();
      if (seconds > 0) {
        figures.by_bound.push_back({std::string(EnumNames<Bound>::names[i]), seconds});
      }
    }
    std::ranges::stable_sort(figures.by_bound, longer_first);
    if (family.time > Seconds(0.0)) figures.expected_error = family.expected_error / family.time;
  }
  for (std::size_t i = 0; i < totals.launches_by_origin.size(); ++i) {
    const std::int64_t launches = totals.launches_by_origin[i];
    if (launches > 0) {
      report.origins.push_back({std::string(EnumNames<Origin>::names[i]), launches});
    }
  }
  for (std::size_t pool = 0; pool < outcome.pools.specs().size(); ++pool) {
    report.gpu_busy +=
        busy_share(outcome, pool) * gpus_of(outcome.pools.specs()[pool].scenario) / report.gpus;
  }
}

/// Of the first pool that decodes with drafts.
void add_speculation(const SimulatedRun& outcome, Report& report) {
  const std::vector<PoolSpec>& pools = outcome.pools.specs();
  const auto pool = std::ranges::find_if(pools, [](const PoolSpec& spec) {
    return spec.role != PoolRole::prefill && spec.scenario.engine.speculative;
  });
  if (pool == pools.end()) return;
  const DeployedEngine& engine =
      outcome.pools.engine(static_cast<std::size_t>(pool - pools.begin()));
  const SpeculativeSettings& settings = *pool->scenario.engine.speculative;
  const SpeculationTotals totals = engine.speculation();
  Report::Speculation& speculation = report.speculation.emplace();
  speculation.method = enum_name(settings.method);
  speculation.drafts = settings.drafts;
  speculation.verifications = totals.verifications;
  speculation.acceptance_length = totals.acceptance_length();
  for (std::size_t i = 0; i < totals.drafted.size(); ++i) {
    speculation.accepted_by_position.push_back(totals.drafted[i] > 0
                                                   ? static_cast<double>(totals.accepted[i]) /
                                                         static_cast<double>(totals.drafted[i])
                                                   : 0.0);
  }
  Seconds draft, all;
  for (const auto& [family, time] : engine.totals().time_by) {
    if (family == "draft") draft += time;
    if (family != "host") all += time;
  }
  speculation.draft_share = all > Seconds(0.0) ? draft / all : 0.0;
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
  fleet.starts = usage->starts;
  fleet.failures = usage->failures;
  return fleet;
}

void add_fleet(const SimulatedRun& outcome, Report& report) {
  for (std::size_t pool = 0; pool < outcome.pools.specs().size(); ++pool) {
    const std::optional<Report::Fleet> part = fleet_of(outcome, pool);
    if (!part) return;
    if (!report.fleet) report.fleet.emplace();
    report.fleet->serving_mean += part->serving_mean;
    report.fleet->up_mean += part->up_mean;
    report.fleet->up_max += part->up_max;
    report.fleet->gpu_hours += part->gpu_hours;
    report.fleet->starts += part->starts;
    report.fleet->failures += part->failures;
  }
}

/// GPUs of a pool that were paid for in the steady state, on average: all, unless replicas come and
/// go.
double gpus_paid(const SimulatedRun& outcome, std::size_t pool, const Report& report) {
  const Scenario& scenario = outcome.pools.specs()[pool].scenario;
  const FleetUsage* usage = outcome.pools.usage(pool);
  if (usage == nullptr) return gpus_of(scenario);
  return usage->up_mean(Seconds(report.steady.from_s), Seconds(report.steady.to_s)) *
         scenario.deployment.layout.ranks();
}

void add_cost(const SimulatedRun& outcome, Report& report) {
  Report::Cost cost;
  bool has_price = true;
  for (std::size_t pool = 0; pool < outcome.pools.specs().size(); ++pool) {
    const GpuSpec& gpu = outcome.pools.specs()[pool].scenario.cluster.gpu;
    has_price &= gpu.price.has_value();
    if (gpu.price) cost.per_hour += gpu.price->value() * gpus_paid(outcome, pool, report);
  }
  if (!has_price) return;
  const double tokens_per_hour = report.throughput.output_tokens_per_s * 3600.0;
  if (tokens_per_hour > 0.0) {
    cost.per_million_output_tokens = cost.per_hour / tokens_per_hour * 1e6;
  }
  report.cost = cost;
}

/// Board power while a step runs, by all tokens that anybody got; idle power is left out.
void add_energy(const SimulatedRun& outcome, Report& report) {
  double tokens = 0;
  for (const RequestRecord& record : outcome.timeline.requests()) {
    tokens += static_cast<double>(record.output_tokens);
  }
  Joules energy;
  for (std::size_t pool = 0; pool < outcome.pools.specs().size(); ++pool) {
    const Scenario& scenario = outcome.pools.specs()[pool].scenario;
    if (!(scenario.cluster.gpu.power > Watts(0.0))) return;
    const int gpus_a_stage = scenario.deployment.layout.stage_ranks();
    energy += scenario.cluster.gpu.power * (gpus_a_stage * busy(outcome, pool));
  }
  if (tokens > 0.0) report.energy_j_per_token = energy.value() / tokens;
}

/// What a GPU's capacity went to, largest purposes first; together they are the capacity.
std::vector<NamedCount> memory_pieces(const DeployedEngine& engine) {
  const MemoryPlan& plan = engine.memory();
  const Bytes kv = static_cast<double>(engine.kv_blocks()) * plan.kv_block;
  const Bytes unused =
      plan.unused + static_cast<double>(plan.kv_blocks - engine.kv_blocks()) * plan.kv_block;
  std::vector<NamedCount> pieces;
  const auto add = [&](const char* name, Bytes size) {
    if (size != Bytes(0.0)) pieces.push_back({name, static_cast<std::int64_t>(size.value())});
  };
  add("capacity", plan.capacity);
  add("weights", plan.weights - plan.draft_weights);
  add("draft_weights", plan.draft_weights);
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
    if (scenario.workload->prefix_block_tokens() > 0 && spec.scenario.engine.prefix_caching)
      pool.prefix_hit_rate = hit_rate(engine.prefixes(), engine.prefixes().tokens_found);
    if (gpu.price) pool.cost_per_hour = gpu.price->value() * gpus_paid(outcome, i, report);
    pool.memory_bytes = memory_pieces(engine);
  }
}

void add_handoffs(const Scenario& scenario, const Timeline& timeline, Report& report) {
  if (!hands_over(scenario)) return;
  Report::KvTransfers& transfers = report.kv_transfers.emplace();
  std::vector<double> wait, transfer, exposed;
  for (const RequestRecord& record : timeline.requests()) {
    const KvHandoff& handoff = record.handoff;
    transfers.bytes += handoff.bytes.value();
    if (!handoff.has_happened() || !timeline.is_counted(record)) continue;
    wait.push_back(handoff.wait.value());
    transfer.push_back(handoff.transfer.value());
    exposed.push_back(handoff.exposed.value());
  }
  transfers.count = static_cast<std::int64_t>(transfer.size());
  transfers.wait_ms = in_milliseconds(summarize(std::move(wait)));
  transfers.transfer_ms = in_milliseconds(summarize(std::move(transfer)));
  transfers.exposed_ms = in_milliseconds(summarize(std::move(exposed)));
}

void add_network(const SimulatedRun& outcome, Report& report) {
  const Platform::Traffic& traffic = outcome.traffic;
  if (traffic.flows == 0 && traffic.step_transfers == 0) return;
  const PriceTotals totals = outcome.pools.totals();
  Report::Network& network = report.network.emplace();
  network.flows = static_cast<std::int64_t>(traffic.flows);
  network.priced = totals.transfers_priced;
  network.met = static_cast<std::int64_t>(traffic.step_transfers_as_flows);
  network.alone = static_cast<std::int64_t>(traffic.step_transfers) - network.met;
  network.shared = totals.transfers_shared;
  for (const Platform::Traffic::Crowded& crowded : traffic.crowded) {
    network.contention_s += crowded.beyond.value();
    network.contention_by.push_back({crowded.name, crowded.beyond.value()});
  }
}

std::vector<RequestRow> request_rows(const Timeline& timeline) {
  std::vector<RequestRow> rows;
  const auto date = [](Seconds value) {
    return value >= Seconds(0.0) ? std::optional(value.value()) : std::nullopt;
  };
  for (const RequestRecord& record : timeline.requests()) {
    RequestRow row;
    row.id = record.id.value;
    row.replica = record.replica.value;
    row.arrival_s = record.arrival.value();
    row.scheduled_s = date(record.scheduled);
    row.first_token_s = date(record.first_token);
    row.finished_s = date(record.finished);
    row.prompt_tokens = record.prompt_tokens;
    row.output_tokens = record.output_tokens;
    row.drafted = record.drafted;
    row.accepted = record.accepted;
    if (row.first_token_s) row.ttft_ms = record.ttft().value() * 1e3;
    if (row.finished_s) {
      row.tpot_ms = record.tpot().value() * 1e3;
      row.e2e_ms = record.end_to_end().value() * 1e3;
    }
    row.preemptions = record.preemptions;
    row.attempts = record.attempts;
    if (record.handoff.has_happened()) {
      row.handoff = RequestRow::Handoff{
          record.handoff.from.value, record.handoff.wait.value() * 1e3,
          record.handoff.transfer.value() * 1e3, record.handoff.exposed.value() * 1e3};
    }
    row.status = enum_name(record.status);
    row.ended_s = record.ended.value();
    row.priority = record.priority;
    row.reason = enum_name(record.reason);
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, &RequestRow::id);
  return rows;
}

}  // namespace

Report summarize_run(const Scenario& scenario, const SimulatedRun& outcome) {
  Report report;
  report.title = run_title(scenario);
  report.scenario = scenario_seen_from_here(scenario);
  report.seed = scenario.run.seed;
  report.warmup_s = scenario.run.warmup.value();
  report.gpus = 0;
  for (const PoolSpec& pool : outcome.pools.specs()) report.gpus += gpus_of(pool.scenario);
  report.requests.skipped_lines = outcome.skipped_lines;
  report.kv.preemptions = preemptions_of(outcome.timeline);
  add_request_figures(scenario, outcome.timeline, outcome.timeline.requests(), report);
  report.itl_ms = in_milliseconds(outcome.timeline.gaps().summary());
  report.by_priority = priority_classes(outcome.timeline);
  add_slo_targets(scenario.slo, report);
  add_load(scenario, outcome, report);
  add_experts(outcome, report);
  add_prices(outcome, report);
  add_speculation(outcome, report);
  add_fleet(outcome, report);
  add_cost(outcome, report);
  add_energy(outcome, report);
  add_pools(scenario, outcome, report);
  add_handoffs(scenario, outcome.timeline, report);
  add_network(outcome, report);
  report.memory_bytes = memory_pieces(outcome.pools.engine(first_decoding(outcome.pools)));
  report.event_fingerprint = outcome.counters.fingerprint;
  if (scenario.run.intervals == IntervalSource::estimate) {
    report.intervals = estimate_intervals(scenario, outcome.timeline, outcome.pools, report);
  }
  report.rows = request_rows(outcome.timeline);
  return report;
}

}  // namespace foretoken
