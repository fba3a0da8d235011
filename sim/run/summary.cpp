#include "sim/run/summary.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/routing.hpp"
#include "sim/base/unit_text.hpp"
#include "sim/run/adapter_figures.hpp"
#include "sim/run/handoff_figures.hpp"
#include "sim/run/interval_estimate.hpp"
#include "sim/run/kv_tiers.hpp"
#include "sim/run/media_figures.hpp"
#include "sim/run/pool_figures.hpp"
#include "sim/run/price_edge.hpp"
#include "sim/run/request_figures.hpp"
#include "sim/run/request_groups.hpp"
#include "sim/run/request_rows.hpp"
#include "sim/run/scenario_text.hpp"
#include "sim/run/side_figures.hpp"
#include "sim/run/tenant_fairness.hpp"
#include "sim/run/trajectories.hpp"
#include "workloads/routing_source.hpp"

namespace foretoken {
namespace {

std::int64_t preemptions_of(const Timeline& timeline) {
  std::int64_t preemptions = 0;
  for (const RequestRecord& record : timeline.requests()) preemptions += record.preemptions;
  return preemptions;
}

void add_slo_targets(const SloTargets& slo, Report& report) {
  const auto add = [&](std::string_view name, const std::optional<Seconds>& target) {
    if (target) report.slo.targets.push_back(fmt::format("{} <= {}", name, readable(*target)));
  };
  add("ttft", slo.ttft);
  add("tpot", slo.tpot);
  add("e2e", slo.e2e);
  for (const SloTargets::Class& one : slo.classes) {
    const std::string name = fmt::format("priority {} ", one.priority);
    add(name + "ttft", one.ttft);
    add(name + "tpot", one.tpot);
    add(name + "e2e", one.e2e);
  }
  const auto in_ms = [](const std::optional<Seconds>& target) {
    return target ? std::optional(target->value() * 1e3) : std::nullopt;
  };
  report.slo.ttft_ms = in_ms(slo.ttft);
  report.slo.tpot_ms = in_ms(slo.tpot);
  report.slo.e2e_ms = in_ms(slo.e2e);
  report.slo.percentile = slo.percentile;
  report.slo.met = report.slo.attainment >= slo.percentile / 100.0;
}

/// The pool whose KV cache stands for all in the report's first lines.
std::size_t first_decoding(const DeployedPools& pools) {
  const auto found = std::ranges::find_if(pools.specs(), &PoolSpec::decodes);
  return static_cast<std::size_t>(found - pools.specs().begin());
}

bool caches_prefixes(const DeployedPools& pools) {
  return std::ranges::any_of(pools.specs(), [](const PoolSpec& pool) {
    const bool computes =
        pool.prefills() ||
        (pool.decodes() && pool.scenario.deployment.handoff.decode_computes_prompts());
    return computes && pool.scenario.engine.prefix_caching;
  });
}

void add_load(const Scenario& scenario, const SimulatedRun& outcome, Report& report) {
  const Timeline& timeline = outcome.timeline;
  const std::size_t shown = first_decoding(outcome.pools);
  const StepTotals steps = timeline.of_pool(shown);
  report.kv.blocks = blocks_of(outcome.pools, shown);
  const auto blocks = static_cast<double>(report.kv.blocks);
  add_kv_tiers(outcome.pools, report);
  report.kv.block_tokens = outcome.pools.specs()[shown].scenario.engine.block_tokens;
  if (scenario.workload->prefix_block_tokens() > 0 && caches_prefixes(outcome.pools)) {
    const PrefixCounts prefixes = outcome.pools.prefixes();
    report.kv.prefix_hit_rate = hit_rate(prefixes, prefixes.tokens_found);
    if (report.kv.host) report.kv.host_hit_rate = hit_rate(prefixes, prefixes.tokens_found_host);
    if (report.kv.store) report.kv.store_hit_rate = hit_rate(prefixes, prefixes.tokens_found_store);
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

void add_groups(const Scenario& scenario, const Timeline& timeline, Report& report) {
  report.by_priority =
      request_groups(timeline, scenario.slo, report.steady, &RequestRecord::priority);
  report.models = request_groups(timeline, scenario.slo, report.steady, &RequestRecord::model,
                                 scenario.workload->models());
  const std::vector<Tenant> tenants = scenario.workload->tenants();
  if (tenants.size() < 2) return;
  std::vector<std::string> names;
  for (const Tenant& tenant : tenants) names.push_back(tenant.name);
  report.tenants =
      request_groups(timeline, scenario.slo, report.steady, &RequestRecord::tenant, names);
  if (!report.tenants.empty()) report.fairness = tenant_fairness(timeline, tenants, report.steady);
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
  ExpertFigures& experts = report.experts.emplace(ExpertFigures{});
  experts.routing = drawn.empty() ? routing_text(shown.execution.routing) : drawn;
  experts.source = routing_source(shown.execution.routing.kind);
  experts.groups = moe.groups.count;
  experts.topk_groups = moe.groups.chosen;
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
  int gpus = 0;  // those that pools share counted for each
  for (const PoolSpec& pool : outcome.pools.specs()) gpus += gpus_of(pool.scenario);
  for (std::size_t pool = 0; pool < outcome.pools.specs().size(); ++pool) {
    report.gpu_busy +=
        busy_share(outcome, pool) * gpus_of(outcome.pools.specs()[pool].scenario) / gpus;
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
  Report::Speculation& speculation = report.speculation.emplace(Report::Speculation{});
  speculation.method = enum_name(settings.method);
  speculation.drafts = settings.verified();
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

void add_network(const SimulatedRun& outcome, Report& report) {
  const Platform::Traffic& traffic = outcome.traffic;
  if (traffic.flows == 0 && traffic.step_transfers == 0) return;
  const PriceTotals totals = outcome.pools.totals();
  Report::Network& network = report.network.emplace(Report::Network{});
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

}  // namespace

Report summarize_run(const Scenario& scenario, const SimulatedRun& outcome) {
  Report report;
  report.title = run_title(scenario);
  report.scenario = scenario_seen_from_here(scenario);
  report.seed = scenario.run.seed;
  report.warmup_s = scenario.run.warmup.value();
  report.gpus = gpus_of_all(outcome.pools.specs());
  report.requests.skipped_lines = outcome.skipped_lines;
  report.kv.preemptions = preemptions_of(outcome.timeline);
  add_request_figures(scenario, outcome.timeline, outcome.timeline.requests(), report);
  report.itl_ms = in_milliseconds(outcome.timeline.gaps().summary());
  add_groups(scenario, outcome.timeline, report);
  report.trajectories = trajectory_figures(outcome.timeline);
  add_slo_targets(scenario.slo, report);
  add_load(scenario, outcome, report);
  add_experts(outcome, report);
  add_prices(outcome, report);
  add_adapters(outcome.pools.specs()[first_decoding(outcome.pools)].scenario, outcome.pools,
               report);
  add_media(outcome.pools, report);
  for (std::size_t pool = 0; pool < outcome.pools.specs().size() && !report.sides; ++pool)
    report.sides = sides_of(outcome.pools, pool);
  add_speculation(outcome, report);
  add_fleet(outcome, report);
  add_cost(outcome, report);
  add_energy(outcome, report);
  add_pools(scenario, outcome, report);
  add_handoffs(scenario, outcome.timeline, report);
  add_network(outcome, report);
  report.memory_bytes = memory_pieces(outcome.pools.engine(first_decoding(outcome.pools)));
  report.event_fingerprint = outcome.counters.fingerprint;
  if (scenario.run.intervals == IntervalSource::estimate ||
      scenario.run.intervals == IntervalSource::automatic) {
    report.intervals = estimate_intervals(scenario, outcome.timeline, outcome.pools, report);
  }
  report.rows = request_rows(outcome.timeline, *scenario.workload);
  return report;
}

}  // namespace foretoken
